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

#: A worker's lease is renewed four times in its life, so at least three quarters of it are left when a process freezes:
#: a gap of two thirds of a lease between rounds is the longest after which no lease can have run out unseen.
_GAP = 2 / 3
#: The store's clock may be ahead of what was expected by this part of a lease: more is a step, or an outage.
_STEP = 1 / 4


def decide_lost(lost: Lost, now: int, random: float) -> Settlement:
    """What becomes of one run whose worker is gone.

    A run that was not claimable before the lease ran out was not started, since each start checks the lease (but for a
    worker that heard of a step of the store's clock and beat no more): it is given back. Every other may have been, and
    is charged; also one that was claimed after that moment: the store's clock was set forward between the last
    heartbeat and the claim, and the lease stood all the same.
    """
    run = lost.run
    if run.claim_at > lost.lease_ended_at >= (run.claimed_at or 0):
        transition = release(run, cancel_requested=run.cancel_requested, now=now)
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
    """Runs the rescue, round after round.

    A gap between two rounds in which a lease may have run out (this process was frozen, the machine asleep, the loop
    held up), and a step of the store's clock, count as outages: the others were away too, or only the clock says so.
    ``leases`` and ``runs`` count the leases that it ended and the runs that it settled.
    """

    def __init__(self, store: Store, wake: Wake, *, clock: Clock, random: Randomness, lease: float) -> None:
        self._store = store
        self._wake = wake
        self._clock = clock
        self._random = random
        self._lease = lease
        self._good_since: float | None = None
        self._last: tuple[float, int] | None = None
        self.leases = 0
        self.runs = 0

    async def round(self) -> None:
        """Ends overdue leases and settles what their workers held, until nothing is left to settle."""
        steady = self._clock.steady()
        expected = self._expected(steady)
        ends_until = None
        if expected is not None and self._good_since is not None and steady - self._good_since >= self._lease:
            ends_until = expected + int(self._lease * _STEP * 1_000_000)
        try:
            now = await self._rescue(ends_until)
        except BaseException:
            self._good_since = self._last = None
            raise
        stepped = expected is not None and now > expected + self._lease * _STEP * 1_000_000
        if expected is None or stepped:
            self._good_since = steady
        self._last = steady, now

    def _expected(self, steady: float) -> int | None:
        """What the store's clock should say now; None after an outage, and at first."""
        if self._last is None or steady - self._last[0] > self._lease * _GAP:
            return None
        return self._last[1] + int((steady - self._last[0]) * 1_000_000)

    async def _rescue(self, ends_until: int | None) -> int:
        while True:
            rescued = await self._store.rescue(self._decide, ends_until=ends_until)
            self.leases += len(rescued.workers)
            self.runs += rescued.runs
            self._wake.hint(rescued.queues)
            if rescued.runs:
                self._wake.hint_planner()
            if not rescued.full:
                return rescued.now

    def _decide(self, lost: Sequence[Lost], now: int) -> list[Settlement]:
        return [decide_lost(one, now, self._random.fraction()) for one in lost]
