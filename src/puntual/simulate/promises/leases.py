"""Promise G4: a lease ends when its time is over and not before, and whose lease is over has no say any more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from puntual.model.attempt import OutcomeKind
from puntual.model.instant import SECOND
from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.judge import Done, Eye, Judge
from puntual.simulate.record import Record
from puntual.store.requests import Beat, BeatReply, Claimed, ClaimRequest, Rescued, Settlement

#: A lease is as long as it was written, but for clocks that drift; a rescuer takes steps of the database's clock by
#: less than a quarter of a lease for the passing of time, one by one.
_WHOLE: Final = 0.98
_STEPPED: Final = 0.5
#: So many leases after its last sign of life a worker's lease is ended where the upkeep died with it: that of the
#: upkeep runs out, a worker that is no scheduler leaves it for two more, and a rescuer waits one after its start.
_LATEST: Final = 6


class Calm(Protocol):
    """How quiet the world has been: ``since`` when nothing is out of order, ``able_for`` how long somebody could."""

    @property
    def since(self) -> float:
        """Seconds from the beginning."""
        ...

    @property
    def able_for(self) -> float:
        """Seconds until now, for which one and the same process could have done something all the time."""
        ...


class _Life(msgspec.Struct):
    """A worker's lease: when it was written last, seconds, for how long, and until when by the database."""

    written_at: float
    seconds: float
    until: int


class _Known(msgspec.Struct):
    lives: dict[str, _Life] = {}
    over: set[str] = set()
    draining: set[str] = set()
    #: When each run was claimed last, and when it could be started, by the database.
    claims: dict[str, tuple[int, int]] = {}


class Leases(Judge[_Known]):
    """Reckons each lease from the answers to its worker, on the one clock that nobody sets."""

    def __init__(self, record: Record, clock: SimClock, *, lease: float, calm: Calm) -> None:
        super().__init__(record, clock, _Known())
        self._lease = lease
        self._calm = calm
        self._back_at = 0.0

    def eyes(self) -> Mapping[str, Eye]:
        """As ``Judge.eyes``."""
        return {
            "register_worker": self._registered,
            "end_worker": self._left,
            "drain_worker": self._drained,
            "beat": self._beat,
            "claim": self._claimed,
            "rescue": self._rescued,
        }

    def away(self, seconds: float) -> None:
        """The database answers nobody for so long from now."""
        leases = [life.seconds for life in self.known.lives.values()]
        if leases and seconds >= max(leases):
            self._back_at = max(self._back_at, self._record.now + seconds)

    def back(self) -> None:
        """The database answers again, sooner than was said."""
        self._back_at = min(self._back_at, self._record.now)

    def _registered(self, done: Done) -> None:
        worker = done.args[0]
        self.known.lives[worker.id] = _Life(self._record.now, self._lease, done.answer)

    def _left(self, done: Done) -> None:
        self.known.over.add(done.args[0])

    def _drained(self, done: Done) -> None:
        self.known.draining.add(done.args[0])

    def _beat(self, done: Done) -> None:
        beat: Beat = done.args[0]
        reply: BeatReply = done.answer
        if not reply.alive:
            return
        self.known.lives[beat.worker] = _Life(self._record.now, beat.lease_us / SECOND, reply.lease_until)
        if beat.worker in self.known.over:
            self._record.broken("G4", f"the lease of {beat.worker} was renewed after it was over")

    def _claimed(self, done: Done) -> None:
        request: ClaimRequest = done.args[0]
        claimed: Claimed = done.answer
        for run in claimed.runs:
            self.known.claims[run.id] = claimed.now, run.claim_at
        if claimed.runs and request.worker in self.known.draining:
            self._record.broken("G4", f"{request.worker} claimed {claimed.runs[0].id} although it drains")
        if claimed.runs and request.worker in self.known.over:
            self._record.broken("G4", f"{request.worker} claimed {claimed.runs[0].id} after its lease was over")

    def _rescued(self, done: Done) -> None:
        rescued: Rescued = done.answer
        for worker in rescued.workers:
            self.known.over.add(worker)
            life = self.known.lives.get(worker)
            if life is None:
                continue
            passed = self._record.now - max(life.written_at, self._back_at)
            part = _WHOLE if self._calm.since < life.written_at else _STEPPED
            # Several at once may have died one after the other, each just when it had taken the upkeep over.
            if len(rescued.workers) == 1 and self._calm.able_for > passed > life.seconds * _LATEST:
                self._record.broken("G4", f"the lease of {worker} was ended {passed:.3f} s after its last sign of life")
            if passed < life.seconds * part:
                self._record.broken(
                    "G4", f"the lease of {worker} was ended {passed:.3f} s after it was written, of {life.seconds} s"
                )
        for settlement in done.decided:
            self._charged(settlement)

    def _charged(self, settlement: Settlement) -> None:
        """A run that could not have been started before its worker's lease ran out costs it no attempt."""
        life = self.known.lives.get(settlement.worker)
        story = settlement.transition.attempts
        lost = bool(story) and story[-1].number == settlement.attempt and story[-1].outcome is OutcomeKind.LOST
        claimed_at, startable_at = self.known.claims.get(settlement.id, (0, 0))
        if lost and life is not None and claimed_at <= life.until < startable_at:
            self._record.broken(
                "G2", f"{settlement.id} was charged, and could not have been started by {settlement.worker}"
            )
