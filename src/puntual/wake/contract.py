"""A hint is a word that something changed; losing one costs time and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

#: The name that stands for every queue, in a hint.
ANY_QUEUE: Final = "*"
#: The channel by which the processes on one PostgreSQL database tell each other, and the beginning of the text that
#: names a queue: whoever joins an application's transaction says it in that.
CHANNEL: Final = "puntual"
RUNS: Final = "runs:"


class Wake(Protocol):
    """Tells claimers and planners that there may be work.

    Hints are given on the event loop, after the commit of what they are about.
    """

    @property
    def trouble(self) -> str | None:
        """Why the hints of other processes do not arrive, as a sentence; None where they do, or nobody listens."""
        ...

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
        queues: Collection[str] | None = None,
        runs: Callable[[], None] | None = None,
        schedules: Callable[[], None] | None = None,
        cancels: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """Calls back on each hint, on the event loop, until what is returned is called.

        ``runs`` is called for hints about ``queues`` only; None means all.
        """
        ...

    def listening(self) -> AbstractAsyncContextManager[None]:
        """Hears the hints of other processes while inside; those of this process are heard anyway."""
        ...

    async def close(self) -> None:
        """Sends what is still to be sent. A second call does nothing."""
        ...
