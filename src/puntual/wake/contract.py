"""A hint is a word that something changed; losing one costs time and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol


class Wake(Protocol):
    """Tells claimers and planners that there may be work."""

    def hint(self, queues: Iterable[str]) -> None:
        """Says that these queues may have runs to claim. Never blocks, never fails."""
        ...

    def hint_planner(self) -> None:
        """Says that a schedule may have changed, or that a run it waited for has ended."""
        ...

    def hint_cancels(self) -> None:
        """Says that a running run may have been asked to stop."""
        ...

    def subscribe(
        self,
        *,
        runs: Callable[[], None] | None = None,
        schedules: Callable[[], None] | None = None,
        cancels: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """Calls back on each hint, on the event loop, until what is returned is called."""
        ...
