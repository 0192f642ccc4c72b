"""Hints within one process: they call whoever waits, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_Callbacks = list[Callable[[], None]]


class LocalWake:
    """The wake of a single process. Other processes on the same database find the work by polling."""

    def __init__(self) -> None:
        self._runs: _Callbacks = []
        self._schedules: _Callbacks = []
        self._cancels: _Callbacks = []

    def hint(self, queues: Iterable[str]) -> None:
        """Wakes the claimers, if any queue is named."""
        if any(True for _ in queues):
            _call(self._runs)

    def hint_planner(self) -> None:
        """Wakes the planners."""
        _call(self._schedules)

    def hint_cancels(self) -> None:
        """Lets the workers ask what is to be stopped."""
        _call(self._cancels)

    def subscribe(
        self,
        *,
        runs: Callable[[], None] | None = None,
        schedules: Callable[[], None] | None = None,
        cancels: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """Adds callbacks, and gives what takes them away again."""
        lists = ((self._runs, runs), (self._schedules, schedules), (self._cancels, cancels))
        added = [(callbacks, callback) for callbacks, callback in lists if callback is not None]
        for callbacks, callback in added:
            callbacks.append(callback)

        def leave() -> None:
            for callbacks, callback in added:
                callbacks.remove(callback)
            added.clear()

        return leave


def _call(callbacks: _Callbacks) -> None:
    for callback in callbacks:
        callback()
