"""A target executes one run and says what came of it. It knows no database, and it never raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from puntual.model.outcome import Outcome
from puntual.model.run import Run


class Target(Protocol):
    """One way of doing work: the functions of an app, HTTP requests, commands."""

    def tasks(self) -> tuple[str, ...]:
        """The task names that it executes; they may grow while it lives."""
        ...

    async def execute(self, run: Run) -> Outcome:
        """Does the work of one attempt.

        The executor enforces the deadline and cancellation by cancelling this call, and may do so again. The target
        then stops what it started and waits for what cannot be stopped; only when that is over does it let
        ``CancelledError`` through or give an outcome: a success counts, and of any other the evidence is kept. Every
        other failure comes back as an outcome. It need not fill in the instants.
        """
        ...

    async def close(self) -> None:
        """Ends helpers (pools, sessions, child processes); a cancelled call that still waits for something ends now."""
        ...


@runtime_checkable
class BatchTarget(Target, Protocol):
    """A target that does many runs of some of its tasks in one call."""

    def batch_of(self, task: str) -> int:
        """How many runs of the task one call takes at most; 1 where each run is a call of its own."""
        ...

    async def execute_batch(self, runs: Sequence[Run]) -> Sequence[Outcome]:
        """Does the work of one attempt of each of several runs of one task, no more than a batch of them.

        Deadline and cancellation are those of the whole call, as in ``execute``.

        Returns:
            An outcome for each run, in their order; none at all when the call failed as a whole, and nobody can say
            because of which run: each is then to be executed by itself.
        """
        ...


#: Every task name that this process can execute, with its target.
Targets = Mapping[str, Target]
