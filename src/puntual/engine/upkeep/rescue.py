"""Rescue: what a vanished worker held goes on elsewhere, and a lease ends here, never by the mere passing of time.

After its own start, and after each outage of the database, a rescuer ends no lease until one lease time has passed:
the others were cut off too, and must have had the time to renew.
"""

from __future__ import annotations

from collections.abc import Sequence

from puntual.engine.service import Randomness
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.clock import Clock
from puntual.model.outcome import Outcome
from puntual.model.transitions import decide, release
from puntual.store.contract import Store
from puntual.store.requests import Lost, Settlement
from puntual.wake.contract import Wake


def decide_lost(lost: Lost, now: int, random: float) -> Settlement:
    """What becomes of one run whose worker is gone.

    A run that was not claimable before the lease ran out cannot have been started, since each start checks the
    lease: it is given back. Every other may have been, and is charged.
    """
    run = lost.run
    if run.claim_at > lost.lease_ended_at and not run.cancel_requested:
        transition = release(run, now=now)
    else:
        outcome = Outcome(
            kind=OutcomeKind.LOST,
            error=ErrorInfo("WorkerLost", f"Worker {run.worker} ended without saying what became of this attempt."),
            started_at=max(run.claimed_at or 0, run.claim_at),
            finished_at=now,
        )
        transition = decide(run, outcome, cancel_requested=run.cancel_requested, now=now, random=random)
    return Settlement(
        id=run.id,
        attempt=run.attempt,
        worker=run.worker or "",
        cancel_seen=run.cancel_requested,
        transition=transition,
    )


class Rescuer:
    """Runs the rescue, round after round."""

    def __init__(self, store: Store, wake: Wake, *, clock: Clock, random: Randomness, lease: float) -> None:
        self._store = store
        self._wake = wake
        self._clock = clock
        self._random = random
        self._lease = lease
        self._good_since: float | None = None
        self.rescued = 0

    async def round(self) -> None:
        """Ends overdue leases and settles what their workers held."""
        now = self._clock.steady()
        end_leases = self._good_since is not None and now - self._good_since >= self._lease
        try:
            rescued = await self._store.rescue(self._decide, end_leases=end_leases)
        except BaseException:
            self._good_since = None
            raise
        if self._good_since is None:
            self._good_since = now
        self.rescued += rescued.runs
        self._wake.hint(rescued.queues)
        if rescued.runs:
            self._wake.hint_planner()

    def _decide(self, lost: Sequence[Lost], now: int) -> list[Settlement]:
        return [decide_lost(one, now, self._random.fraction()) for one in lost]
