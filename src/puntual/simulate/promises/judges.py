"""All judges of what happens on the database, each of a promise of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.backoffs import Backoffs
from puntual.simulate.promises.budget import Budget
from puntual.simulate.promises.gates import Gates
from puntual.simulate.promises.judge import Done, Eye, Judge
from puntual.simulate.promises.leases import Calm, Leases
from puntual.simulate.promises.overlaps import Overlaps
from puntual.simulate.promises.starts import Starts
from puntual.simulate.promises.wishes import Wishes
from puntual.simulate.record import Record


class Judges:
    """Shows each operation to those whom it concerns."""

    def __init__(self, record: Record, clock: SimClock, *, lease: float, calm: Calm) -> None:
        self.leases = Leases(record, clock, lease=lease, calm=calm)
        self.starts = Starts(record, clock)
        self._all: tuple[Judge[Any], ...] = (
            self.leases,
            self.starts,
            Wishes(record, clock),
            Gates(record, clock),
            Budget(record, clock),
            Backoffs(record, clock, calm=calm),
            Overlaps(record, clock),
        )
        self._eyes: dict[str, list[Eye]] = {}
        for judge in self._all:
            for operation, eye in judge.eyes().items():
                self._eyes.setdefault(operation, []).append(eye)

    def saw(self, operation: str, args: tuple[Any, ...], decided: Sequence[Any], answer: Any) -> None:  # noqa: ANN401 - of any operation
        """An operation was done. A claim that gave nothing, and a look that decided nothing, concern nobody."""
        eyes = self._eyes.get(operation)
        if eyes is not None and (operation != "plan" or decided) and (operation != "claim" or answer.runs):
            done = Done(args, decided, answer)
            for eye in eyes:
                eye(done)

    def keep(self) -> None:
        """A standby has received all that is committed now."""
        for judge in self._all:
            judge.keep()

    def fail_over(self) -> None:
        """What came after is lost."""
        for judge in self._all:
            judge.fail_over()
