"""Makes a failing scenario small: the fewest faults, acts, schedules and machines that still break the same promise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from puntual.simulate.record import Problem
from puntual.simulate.scenario import Blow, Scenario, ServerBlow, Strike

#: It is cut off so soon after the break, seconds.
_AFTER: Final = 1.0
#: How long a scenario might be that breaks only when all has come to rest, seconds.
_LENGTHS: Final = (15.0, 30.0, 60.0, 120.0, 300.0)
#: These strike no machine in particular.
_EVERYWHERE: Final = frozenset(
    {
        *(Blow.AWAY, Blow.FAIL_OVER, Blow.LATE_HINTS, Blow.DOUBLED_HINTS, Blow.DATABASE_CLOCK),
        *(ServerBlow.LONG_WRITER, ServerBlow.OPEN_CLAIM, ServerBlow.NO_DAYS, ServerBlow.NO_LANE),
    }
)
_NAMED: Final = re.compile(r"\S*\d\S*")


def kind_of(problem: Problem) -> str:
    """What two problems have in common if they are the same but for names and numbers."""
    return f"{problem.promise} {_NAMED.sub('#', problem.what)}"


def shrink(scenario: Scenario, at: float, breaks: Callable[[Scenario], bool], *, budget: int) -> Scenario:
    """The smallest scenario that was found to break as this one does.

    Args:
        scenario: it breaks.
        at: when, seconds.
        breaks: lives another one through and says whether it breaks in the same way.
        budget: how often that may be asked.
    """
    smaller = _Smaller(scenario, breaks, budget)
    smaller.cut(at)
    before = None
    while before != smaller.best and smaller.budget:
        before = smaller.best
        smaller.fewer("strikes")
        smaller.fewer("acts")
        smaller.fewer("schedules")
        smaller.fewer_machines()
    return smaller.best


class _Smaller:
    """Tries what is smaller than the best so far, never the same twice."""

    def __init__(self, scenario: Scenario, breaks: Callable[[Scenario], bool], budget: int) -> None:
        self.best = scenario
        self.budget = budget
        self._breaks = breaks
        self._tried: set[bytes] = set()

    def _does(self, **changes: Any) -> bool:  # noqa: ANN401 - of any field
        """Whether the best so far breaks with these changes too; then it is the best."""
        candidate = msgspec.structs.replace(self.best, **changes)
        text = msgspec.json.encode(candidate)
        if not self.budget or text in self._tried:
            return False
        self._tried.add(text)
        self.budget -= 1
        if self._breaks(candidate):
            self.best = candidate
            return True
        return False

    def cut(self, at: float) -> None:
        """Ends the scenario soon after it broke, so that each further try takes less."""
        lengths = (at + _AFTER,) if at < self.best.seconds else _LENGTHS
        for seconds in lengths:
            if seconds < self.best.seconds and self._does(
                seconds=seconds,
                acts=tuple(act for act in self.best.acts if act.at < seconds),
                strikes=tuple(strike for strike in self.best.strikes if strike.at < seconds),
            ):
                return

    def fewer(self, field: Literal["strikes", "acts", "schedules"]) -> None:
        """Leaves out all of them, then halves, quarters, and at last each alone."""
        size = len(getattr(self.best, field))
        while size:
            place = 0
            while place < len(items := getattr(self.best, field)):
                if not self._does(**{field: items[:place] + items[place + size :]}):
                    place += size
            size //= 2

    def fewer_machines(self) -> None:
        """Leaves out machines, each with what strikes it; one stays."""
        for slot in reversed(range(len(self.best.machines))):
            machines = self.best.machines
            if len(machines) > 1:
                strikes = tuple(moved for one in self.best.strikes if (moved := _without(slot, one)) is not None)
                self._does(machines=machines[:slot] + machines[slot + 1 :], strikes=strikes)


def _without(slot: int, strike: Strike) -> Strike | None:
    """The same strike where that machine is not there; None if it struck that one."""
    if strike.kind in _EVERYWHERE:
        return msgspec.structs.replace(strike, slot=0)
    if strike.slot == slot:
        return None
    return msgspec.structs.replace(strike, slot=strike.slot - (strike.slot > slot))
