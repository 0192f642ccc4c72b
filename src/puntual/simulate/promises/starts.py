"""No run is started early, or held for long before, and one that was lost twice is started in no company."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from puntual.engine.held import Hold, Stage
from puntual.model.instant import SECOND
from puntual.model.run import Run
from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.judge import Done, Eye, Judge
from puntual.simulate.record import Record

#: What the clocks of a node and of the database may differ by between two answers.
_BLINK: Final = SECOND // 10
#: What is held and not started is given back after half a second, looked for each half second, and written, seconds.
_LATEST: Final = 3.0
#: A step of the database's clock is known to everybody who is trusted after the longest lease, seconds.
_HEARD: Final = 15.0


class Starts(Judge[dict[tuple[str, int, str], float]]):
    """Looks at each start of a handler. What processes hold no failover takes from them."""

    def __init__(self, record: Record, clock: SimClock) -> None:
        super().__init__(record, clock, {})
        self._stepped_at = -_HEARD

    def eyes(self) -> Mapping[str, Eye]:
        """As ``Judge.eyes``."""
        return {"claim": self._claimed}

    def _claimed(self, done: Done) -> None:
        for run in done.answer.runs:
            ahead = (run.claim_at - done.answer.now) / SECOND
            self.known[run.id, run.attempt, run.worker or ""] = self._record.now + max(ahead, 0.0)

    def fail_over(self) -> None:
        """As ``Judge.fail_over``."""

    def stepped(self) -> None:
        """Somebody has set the database's clock."""
        self._stepped_at = self._record.now
        self.known.clear()  # What was due by the other time may be so much later.

    def starting(self, run: Run, held: Iterable[Hold], *, woken_at: float, lonely: bool) -> None:
        """A process calls the handler of a run.

        Args:
            run: which.
            held: the claims that it holds.
            woken_at: until when it was frozen or kept busy last, or waited for an answer.
            lonely: whether it is there for runs that were lost twice.
        """
        # Popped: after a call of several that failed as a whole it is started once more in the same attempt.
        late = self._record.now - max(
            self.known.pop((run.id, run.attempt, run.worker or ""), self._record.now), woken_at
        )
        if late > _LATEST and self._record.now > self._stepped_at + late:
            self._record.broken("G5", f"{run.id} was held for {late:.3f} s before it was started")
        # What has been tried, or put back by hand, may go on at any time from when it can be claimed.
        due_at = run.due_at if run.charged == 1 else run.claim_at
        early = max(run.claim_at, due_at) - self._clock.now()
        # What was decided before a freeze was decided by the time of then.
        if early > _BLINK and self._record.now > self._stepped_at + _HEARD and woken_at <= self._stepped_at:
            self._record.broken("G6", f"{run.id} was started {early / SECOND:.3f} s before it was due")
        if run.lost > 1 and not lonely:
            self._record.broken("G4", f"{run.id} was lost twice, and was started in a process that has others")
        if lonely and sum(hold.stage is Stage.STARTED for hold in held) > 1:
            self._record.broken("G4", f"{run.id} was started in the company of a run that was lost twice")
