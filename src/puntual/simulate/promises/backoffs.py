"""What failed is tried again after the wait that its policy says, neither sooner nor later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from puntual.model.attempt import OutcomeKind
from puntual.model.instant import SECOND
from puntual.model.policy import Backoff, RetryPolicy
from puntual.model.run import Run, RunState
from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.judge import Done, Eye, Judge, written
from puntual.simulate.promises.leases import Calm
from puntual.simulate.record import Record
from puntual.store.requests import Settlement

_FAILED: Final = frozenset((OutcomeKind.FAILED, OutcomeKind.TIMED_OUT, OutcomeKind.LOST, OutcomeKind.UNKNOWN))
#: What a node takes the database's clock to show is off by the way of an answer, which differs from one to the next.
_BLINK: Final = SECOND // 2
#: A step of the database's clock is known to everybody after the longest freeze and lease, seconds.
_HEARD: Final = 60.0


class Backoffs(Judge[dict[str, tuple[RetryPolicy, int]]]):
    """Reckons the wait of each retry anew, from the policy of its run and how often that was tried."""

    def __init__(self, record: Record, clock: SimClock, *, calm: Calm) -> None:
        super().__init__(record, clock, {})
        self._calm = calm

    def eyes(self) -> Mapping[str, Eye]:
        """As ``Judge.eyes``."""
        return {"claim": self._claimed, "settle": self._wrote, "rescue": self._wrote}

    def _claimed(self, done: Done) -> None:
        runs: tuple[Run, ...] = done.answer.runs
        self.known.update({run.id: (run.policy.retry, max(run.charged, 1)) for run in runs})

    def _wrote(self, done: Done) -> None:
        if self._record.now > self._calm.since + _HEARD:
            for settlement in written(done):
                self._judge(settlement)

    def _judge(self, settlement: Settlement) -> None:
        change = settlement.transition
        last = change.attempts[-1] if change.attempts else None
        if change.state is not RunState.PENDING or last is None or last.number != settlement.attempt:
            return
        if last.outcome not in _FAILED or change.claim_at is None or settlement.id not in self.known:
            return
        wait = _longest(*self.known[settlement.id])
        shortest = wait // 2 if self.known[settlement.id][0].jitter else wait
        if change.claim_at - self._clock.now() > wait + _BLINK:
            self._tell(settlement, f"{(change.claim_at - self._clock.now()) / SECOND:.3f} s from now", wait)
        elif change.claim_at - last.finished_at < shortest - _BLINK:
            self._tell(settlement, f"{(change.claim_at - last.finished_at) / SECOND:.3f} s after its end", wait)

    def _tell(self, settlement: Settlement, when: str, wait: int) -> None:
        told = f"{settlement.id}#{settlement.attempt} is tried again {when}"
        self._record.broken("backoff", f"{told}, and its policy says {wait / SECOND:.3f} s at most")


def _longest(policy: RetryPolicy, tries: int) -> int:
    """The wait after so many tries, without jitter, which takes off up to a half."""
    growth = {Backoff.FIXED: 1, Backoff.LINEAR: tries, Backoff.EXPONENTIAL: 1 << (tries - 1)}[policy.backoff]
    return min(policy.delay_us * growth, policy.max_delay_us)
