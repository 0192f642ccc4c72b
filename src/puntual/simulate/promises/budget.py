"""Promise G2: a run is dead for want of attempts when all of them were charged, and of no more than those."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from puntual.model.attempt import OutcomeKind
from puntual.model.run import COMMAND_TASK, DeadReason, Run, RunState
from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.judge import Done, Eye, Judge, written
from puntual.simulate.record import Record
from puntual.store.requests import Settlement

#: So often a run may be interrupted without being charged.
_FREE = 20


class _Purse(msgspec.Struct):
    """What a run may spend, what it has spent by our own reckoning, and how often it was interrupted for nothing."""

    limit: int
    once: bool
    spent: int = 0
    interrupted: int = 0


class Budget(Judge[dict[str, _Purse]]):
    """Reckons the attempts of each run anew."""

    def __init__(self, record: Record, clock: SimClock) -> None:
        super().__init__(record, clock, {})

    def eyes(self) -> Mapping[str, Eye]:
        """As ``Judge.eyes``."""
        return {"claim": self._claimed, "settle": self._wrote, "rescue": self._wrote}

    def _claimed(self, done: Done) -> None:
        for run in done.answer.runs:
            purse = self._purse(run)
            purse.limit = run.max_attempts
            purse.spent += 1
            if purse.spent > purse.limit:
                self._record.broken(
                    "G2", f"{run.id} is claimed for the {purse.spent}th charged attempt of {purse.limit}"
                )

    def _purse(self, run: Run) -> _Purse:
        purse = self.known.get(run.id)
        if purse is None:
            once = run.task == COMMAND_TASK and run.policy.retry.max_attempts == 1
            purse = self.known[run.id] = _Purse(run.max_attempts, once)
        return purse

    def _wrote(self, done: Done) -> None:
        for one in written(done):
            purse = self.known.get(one.id)
            if purse is None:
                continue
            purse.spent -= _given_back(one, purse)
            change = one.transition
            if change.reason == DeadReason.ATTEMPTS and purse.spent < purse.limit:
                self._record.broken("G2", f"{one.id} is dead for want of attempts after {purse.spent} of {purse.limit}")


def _given_back(settlement: Settlement, purse: _Purse) -> bool:
    """Whether this attempt costs nothing, whatever was written down about that."""
    change = settlement.transition
    last = change.attempts[-1] if change.attempts else None
    if last is None or last.number != settlement.attempt:
        return True
    if last.outcome is OutcomeKind.SNOOZED:
        return change.state is RunState.PENDING
    if last.outcome is OutcomeKind.CANCELLED and not settlement.cancel_seen:
        free = not purse.once and purse.interrupted < _FREE
        purse.interrupted += free
        return free
    return False
