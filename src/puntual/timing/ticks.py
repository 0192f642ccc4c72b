"""The questions that the engine asks about ticks; pure, bounded, and the same on every machine.

Each function compiles the timetable, which is cached; a loop keeps `rule.compile`'s answer and asks it directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from puntual.timing import rule

if TYPE_CHECKING:
    from puntual.model.instant import Instant


def next_tick(timetable: rule.Timetable, after: Instant) -> Instant | None:
    """The earliest tick strictly later than ``after``; None when there is none up to the year 9999."""
    return rule.compile(timetable).next(after)


def previous_tick(timetable: rule.Timetable, at_or_before: Instant) -> Instant | None:
    """The latest tick at or before an instant; None when there is none since the year 1."""
    return rule.compile(timetable).previous(at_or_before)


def count_ticks(timetable: rule.Timetable, after: Instant, until: Instant, cap: int) -> int:
    """How many ticks lie after ``after`` and up to ``until``, exact up to ``cap``; a count of ``cap`` means at least.

    Multiplies days instead of walking. Where rules of different kinds meet (times of the day and intervals), the fewer
    of their ticks are walked, and that until the cap is reached.
    """
    return rule.compile(timetable).count(after, until, cap)


def ticks_between(timetable: rule.Timetable, after: Instant, until: Instant, limit: int) -> list[Instant]:
    """The ticks after ``after`` and up to ``until``, the earliest ``limit`` of them."""
    return rule.compile(timetable).between(after, until, limit)
