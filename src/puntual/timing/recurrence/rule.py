"""A recurrence rule as a schedule stores it, and its ticks: from its DTSTART on, until its UNTIL or its COUNT.

The wall clock of the timetable's zone is what the rule counts on; an UNTIL that ends with ``Z`` is an instant.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import LATEST, SECOND, Instant
from puntual.timing.cron.wall import Pattern
from puntual.timing.merge import BoundedTicks, Ticks
from puntual.timing.narrow import BoundedPattern
from puntual.timing.recurrence.complete import completed
from puntual.timing.recurrence.grammar import parse_rrule, until_wall
from puntual.timing.recurrence.pattern import wall_pattern
from puntual.timing.recurrence.spec import RruleSpec
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import Fold, Gap, Zone

_FIRST_SPAN: Final = 86_400 * SECOND
_LONGEST_COUNT: Final = 500 * 366 * 86_400 * SECOND
"""Counting costs what the years cost: fifteen milliseconds for these in a zone whose clocks change twice a year."""


class RruleRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="rrule"):
    """A recurrence rule of RFC 5545.

    Args:
        expr: the rule alone, like ``FREQ=WEEKLY;BYDAY=MO``.
        dtstart: its DTSTART as a wall time in the timetable's zone; empty where the rule does not depend on one.
        dst_gap, dst_fold: None are the defaults of cron: those of fixed times, or elapsed time for a rule that repeats
            by itself within the day.
    """

    expr: str
    dtstart: str = ""
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None

    @property
    def elapsed(self) -> bool:
        """Whether it repeats by itself within the day, and so follows elapsed time through gaps and folds."""
        return parse_rrule(self.expr).elapsed

    @property
    def completed(self) -> RruleSpec:
        """Its parts, with those that it takes from its DTSTART.

        Raises:
            InvalidRuleError: it cannot be read.
        """
        return completed(parse_rrule(self.expr), parse_wall(self.dtstart) if self.dtstart else 0)


@lru_cache(maxsize=4_096)
def rrule_pattern(expr: str, dtstart: str) -> Pattern:
    """The pattern of wall clock seconds of a rule, with neither beginning nor end.

    Raises:
        InvalidRuleError: the rule is wrong, or no second ever matches.
    """
    wall = parse_wall(dtstart) if dtstart else 0
    return wall_pattern(completed(parse_rrule(expr), wall), wall)


def from_start_to_end(rule: RruleRule, ticks: Ticks, zone: Zone) -> Ticks:
    """The ticks of a rule, of all those that its pattern has in a zone.

    Raises:
        InvalidRuleError: there is none between its DTSTART and its UNTIL, or its COUNT takes centuries.
    """
    start, end = _bounds(rule, ticks, zone)
    return ticks if start is None and end is None else BoundedTicks(ticks, start, end)


def bounded_pattern(rule: RruleRule, ticks: Ticks, zone: Zone) -> Pattern:
    """The pattern of a rule, from its DTSTART on and until its UNTIL or its COUNT: what comes before it is moved.

    Raises:
        InvalidRuleError: as `from_start_to_end`.
    """
    pattern = rrule_pattern(rule.expr, rule.dtstart)
    first, end = parse_wall(rule.dtstart) if rule.dtstart else None, _bounds(rule, ticks, zone)[1]
    last = None if end is None else end // SECOND + zone.offset(end)
    return pattern if first is None and last is None else BoundedPattern(pattern, first, last)


def _bounds(rule: RruleRule, ticks: Ticks, zone: Zone) -> tuple[Instant | None, Instant | None]:
    spec = parse_rrule(rule.expr)
    start = zone.resolve(parse_wall(rule.dtstart), "boundary", "first")[0] * SECOND if rule.dtstart else None
    end = None
    if spec.until:
        wall, utc = until_wall(spec.until)
        end = (wall if utc else zone.resolve(wall, "boundary", "last")[-1]) * SECOND
    if start is not None and spec.count:
        end = _end(ticks, start, spec.count)
    if spec.until and BoundedTicks(ticks, start, end).previous(LATEST) is None:
        raise InvalidRuleError(f"this never fires: UNTIL={spec.until} lies before its first tick")
    return start, end


def _end(ticks: Ticks, start: Instant, count: int) -> Instant | None:
    """The tick with which a COUNT is reached.

    Looks at spans twice as long each time, then halves the last one, so that a count costs what its years cost.
    """
    low, span, left = start - 1, _FIRST_SPAN, count
    while (found := ticks.count(low, low + span, left)) < left:
        if low + span > min(start + _LONGEST_COUNT, LATEST):
            raise InvalidRuleError(f"COUNT={count} is not reached within 500 years: leave it out")
        low, span, left = low + span, 2 * span, left - found
    high = low + span
    while left > 1:
        middle = (low + high) // 2
        found = ticks.count(low, middle, left)
        if found >= left:
            high = middle
        else:
            low, left = middle, left - found
    return ticks.next(low)
