"""Promise G2: a run whose cancel was asked for is not tried again, unless somebody puts it back."""

from __future__ import annotations

from collections.abc import Mapping

from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.judge import Done, Eye, Judge
from puntual.simulate.record import Record


class Wishes(Judge[set[str]]):
    """Remembers which runs are to be cancelled."""

    def __init__(self, record: Record, clock: SimClock) -> None:
        super().__init__(record, clock, set())

    def eyes(self) -> Mapping[str, Eye]:
        """As ``Judge.eyes``."""
        return {
            "cancel": self._cancelled,
            "plan": self._written,
            "change_schedules": self._written,
            "replay": self._replayed,
            "claim": self._claimed,
        }

    def _cancelled(self, done: Done) -> None:
        self.known.update(run_id for run_id, word in done.answer.items() if word in ("requested", "cancelled"))

    def _written(self, done: Done) -> None:
        for write in done.decided:
            self.known.update(write.cancel)

    def _replayed(self, done: Done) -> None:
        self.known.difference_update(run_id for run_id, word in done.answer.items() if word == "replayed")

    def _claimed(self, done: Done) -> None:
        for run in done.answer.runs:
            if run.id in self.known:
                self._record.broken("G2", f"{run.id} was claimed although its cancel was asked for")
