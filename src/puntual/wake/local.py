"""Hints within one process: they call whoever waits, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class LocalWake:
    """The wake of a single process. Other processes on the same database find the work by polling."""

    def __init__(self) -> None:
        self._runs: list[Callable[[], None]] = []
        self._schedules: list[Callable[[], None]] = []

    def hint(self, queues: Iterable[str]) -> None:
        """Wakes the claimers, if any queue is named."""
        if any(True for _ in queues):
            for wake in self._runs:
                wake()

    def hint_planner(self) -> None:
        """Wakes the planners."""
        for wake in self._schedules:
            wake()

    def subscribe(
        self, *, runs: Callable[[], None] | None = None, schedules: Callable[[], None] | None = None
    ) -> Callable[[], None]:
        """Adds callbacks, and gives what takes them away again."""
        added = [
            (wakes, wake) for wakes, wake in ((self._runs, runs), (self._schedules, schedules)) if wake is not None
        ]
        for wakes, wake in added:
            wakes.append(wake)

        def leave() -> None:
            for wakes, wake in added:
                wakes.remove(wake)
            added.clear()

        return leave
