"""The dates of a recurrence rule: one mask of bits for each year, made of the year's kind and of which periods count.

Whether a date has what the BY parts ask for depends only on its kind of year; whether its period counts (INTERVAL) is
a phase. Both are computed for any year at once, so that no answer depends on how long ago the rule began.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Final, Protocol

import msgspec

from puntual.timing.cron.days import CYCLE_DAYS, YEAR_KINDS, year_of, year_start
from puntual.timing.recurrence.spec import Freq

_DAY: Final = 86_400
_WEEK: Final = 0b1111111
_LAST_YEAR: Final = 9_999
_LIKE: Final = tuple(2000 + YEAR_KINDS.index(kind) for kind in range(14))
"""A year of each kind."""


class DateRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which dates of a period the BY parts give; ``positions`` chooses among them. Empty parts ask for nothing."""

    freq: Freq
    months: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    week_numbers: tuple[int, ...] = ()
    weekdays: tuple[tuple[int, int], ...] = ()
    week_start: int = 0
    positions: tuple[int, ...] = ()


class Phase(Protocol):
    """Which periods of a rule count."""

    def mask(self, year: int, start: int) -> int:
        """The days of a year, which begins at the day ``start``, that lie in a period that counts."""


class EveryYears:
    """Each n-th year, counted from one."""

    __slots__ = ("_anchor", "_size")

    def __init__(self, size: int, anchor_year: int) -> None:
        self._size, self._anchor = size, anchor_year

    def mask(self, year: int, start: int) -> int:  # noqa: ARG002 - as the protocol has it
        """All days of a year that counts."""
        return 0 if (year - self._anchor) % self._size else (1 << 366) - 1


class EveryMonths:
    """Each n-th month, counted from one; months are numbered through the years."""

    __slots__ = ("_anchor", "_size")

    def __init__(self, size: int, anchor_month: int) -> None:
        self._size, self._anchor = size, anchor_month

    def mask(self, year: int, start: int) -> int:
        """The days of the months that count."""
        starts = _month_starts(year_start(year + 1) - start)
        month = (self._anchor - 12 * year) % self._size
        found = 0
        while month < 12:
            found |= (1 << starts[month + 1]) - (1 << starts[month])
            month += self._size
        return found


class EveryDays:
    """The first ``ones`` days of each cycle of ``size`` days, one of which begins at the day ``anchor``."""

    __slots__ = ("_anchor", "_bits", "size")

    def __init__(self, size: int, anchor: int, ones: int = 1) -> None:
        self.size, self._anchor = size, anchor
        cycles = 366 // size + 2
        self._bits = ((1 << size * cycles) - 1) // ((1 << size) - 1) * ((1 << ones) - 1)

    def mask(self, year: int, start: int) -> int:  # noqa: ARG002 - as the protocol has it
        """The days of a year that lie in those parts of the cycles."""
        return self._bits >> (start - self._anchor) % self.size


class RuleDays:
    """The midnights of a rule's dates, as a pattern answers; years beyond 9999 have none."""

    __slots__ = ("_masks", "_phase", "_repeats", "_rule")

    def __init__(self, rule: DateRule, phase: Phase | None) -> None:
        self._rule = rule
        self._phase = phase
        self._repeats = phase is None or (isinstance(phase, EveryDays) and CYCLE_DAYS % phase.size == 0)
        # A week may belong to another year, so with week numbers the kinds of the years around count too.
        self._masks: list[int | None] = [None] * (400 if rule.week_numbers else 14)

    def ever_matches(self) -> bool:
        """Whether any date of any year matches."""
        # Without a phase, or with one that fits into the cycle of the calendar, one cycle shows all that there is.
        years = range(2000, 2400) if self._repeats else range(1, _LAST_YEAR + 1)
        return any(self._mask(year, year_start(year)) for year in years)

    def first(self, wall: int) -> int | None:
        """The earliest midnight at or after a wall second."""
        day = -(-wall // _DAY)
        year, start = year_of(day)
        mask = self._mask(year, start) >> (day - start)
        if mask:
            return (day + (mask & -mask).bit_length() - 1) * _DAY
        for later in range(year + 1, _LAST_YEAR + 1):
            start = year_start(later)
            mask = self._mask(later, start)
            if mask:
                return (start + (mask & -mask).bit_length() - 1) * _DAY
        return None

    def last(self, wall: int) -> int | None:
        """The latest midnight at or before a wall second."""
        day = wall // _DAY
        year, start = year_of(day)
        mask = self._mask(year, start) & ((2 << (day - start)) - 1)
        while not mask:
            year -= 1
            if year < 1:
                return None
            start = year_start(year)
            mask = self._mask(year, start)
        return (start + mask.bit_length() - 1) * _DAY

    def count(self, low: int, high: int) -> int:
        """How many midnights lie from one wall second up to but not including another; counts bits, year by year."""
        first, end = -(-low // _DAY), -(-high // _DAY)
        if first >= end:
            return 0
        year, start = year_of(first)
        mask = self._mask(year, start) >> (first - start) << (first - start)
        total = 0
        while (following := year_start(year + 1)) < end:
            total += mask.bit_count()
            year, start = year + 1, following
            mask = self._mask(year, start)
        return total + (mask & ((1 << (end - start)) - 1)).bit_count()

    def _mask(self, year: int, start: int) -> int:
        cycle = year % 400
        kind = cycle if self._rule.week_numbers else YEAR_KINDS[cycle]
        mask = self._masks[kind]
        if mask is None:
            mask = self._masks[kind] = year_mask(
                self._rule, 2000 + (cycle if self._rule.week_numbers else YEAR_KINDS.index(kind))
            )
        return mask & self._phase.mask(year, start) if mask and self._phase is not None else mask


@lru_cache(maxsize=16_384)
def year_mask(rule: DateRule, year: int) -> int:
    """The dates of a year, as if each period counted: bit 0 is 1 January."""
    days = _Year(year)
    mask = days.full
    for asked, found in (
        (rule.months, days.in_months(rule.months)),
        (rule.month_days, days.month_days(rule.month_days)),
        (rule.year_days, days.year_days(rule.year_days)),
        (rule.week_numbers, days.in_weeks(rule.week_numbers, rule.week_start)),
        (rule.weekdays, days.weekdays(rule)),
    ):
        mask &= found if asked else days.full
    if not rule.positions:
        return mask
    if rule.freq == "WEEKLY":
        return days.chosen_of_weeks(rule)
    spans = days.months if rule.freq == "MONTHLY" else [(0, days.length)]
    return sum(_chosen(mask, first, end, rule.positions) for first, end in spans)


class _Year:
    """A year's days as bits: the parts of a rule are each a mask of them."""

    def __init__(self, year: int) -> None:
        self.year = year
        self.start = year_start(year)
        self.length = year_start(year + 1) - self.start
        self.full = (1 << self.length) - 1
        starts = _month_starts(self.length)
        self.months = list(pairwise(starts))

    def weekday(self, day: int) -> int:
        """The weekday of a day of the year, Monday is 0."""
        # Day 0 since 1970 was a Thursday.
        return (self.start + day + 3) % 7

    def in_months(self, months: tuple[int, ...]) -> int:
        return sum((1 << end) - (1 << first) for first, end in (self.months[month - 1] for month in months))

    def month_days(self, days: tuple[int, ...]) -> int:
        found = 0
        for first, end in self.months:
            for day in days:
                if abs(day) <= end - first:
                    found |= 1 << (first + day - 1 if day > 0 else end + day)
        return found

    def year_days(self, days: tuple[int, ...]) -> int:
        found = 0
        for day in days:
            if abs(day) <= self.length:
                found |= 1 << (day - 1 if day > 0 else self.length + day)
        return found

    def in_weeks(self, numbers: tuple[int, ...], week_start: int) -> int:
        """The days in weeks of those numbers, whichever year the week is counted in (ISO 8601, from ``week_start``)."""
        found = 0
        for year in (self.year - 1, self.year, self.year + 1) if numbers else ():
            first, following = _first_week(year, week_start), _first_week(year + 1, week_start)
            weeks = (following - first) // 7
            for number in numbers:
                week = number if number > 0 else weeks + 1 + number
                if 1 <= week <= weeks:
                    ahead = first + 7 * (week - 1) - self.start
                    found |= _WEEK << ahead if ahead >= 0 else _WEEK >> -ahead
        return found

    def weekdays(self, rule: DateRule) -> int:
        spans = self.months if rule.freq == "MONTHLY" or rule.months else [(0, self.length)]
        found = 0
        for which, weekday in rule.weekdays:
            if not which:
                ahead = (weekday - self.weekday(0)) % 7
                found |= (((1 << 7 * 54) - 1) // _WEEK) << ahead
                continue
            for first, end in spans:
                if which > 0:
                    day = first + (weekday - self.weekday(first)) % 7 + 7 * (which - 1)
                else:
                    day = end - 1 - (self.weekday(end - 1) - weekday) % 7 + 7 * (which + 1)
                if first <= day < end:
                    found |= 1 << day
        return found

    def chosen_of_weeks(self, rule: DateRule) -> int:
        """The chosen days of each week, which may begin in the year before and end in the one after."""
        asked = {weekday for _, weekday in rule.weekdays}
        found = 0
        for first in range(-((self.weekday(0) - rule.week_start) % 7), self.length, 7):
            days = [
                day
                for day in range(first, first + 7)
                if self.weekday(day) in asked and (not rule.months or self._month(day) in rule.months)
            ]
            for day in {days[_place(position)] for position in rule.positions if abs(position) <= len(days)}:
                found |= 1 << day if 0 <= day < self.length else 0
        return found

    def _month(self, day: int) -> int:
        if not 0 <= day < self.length:
            return 12 if day < 0 else 1
        return next(month for month, (_, end) in enumerate(self.months, 1) if day < end)


def _chosen(mask: int, first: int, end: int, positions: tuple[int, ...]) -> int:
    days = [day for day in range(first, end) if mask >> day & 1]
    return sum(1 << day for day in {days[_place(position)] for position in positions if abs(position) <= len(days)})


def _place(position: int) -> int:
    return position - 1 if position > 0 else position


def _first_week(year: int, week_start: int) -> int:
    """The day since 1970 on which week 1 of a year begins: the first week with four days or more in it."""
    start = year_start(year)
    ahead = (week_start - (start + 3)) % 7
    return start + (ahead if ahead <= 3 else ahead - 7)


def _month_starts(length: int) -> tuple[int, ...]:
    return _STARTS[length - 365]


_STARTS: Final = tuple(
    tuple(sum((31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[:month]) for month in range(13))
    for leap in (0, 1)
)
