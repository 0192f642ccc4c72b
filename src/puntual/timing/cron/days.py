"""The days on which a cron rule fires, as one mask of 366 bits for each of the 14 kinds of year there are.

A year is known by the weekday of its 1 January and whether it is a leap year, so 14 masks hold all 400 years of the
Gregorian cycle: finding the next day is a shift, counting days is a count of bits, and a rule whose masks are all
empty provably never fires.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

ALL_DAYS: Final = (1 << 32) - 2
ALL_WEEKDAYS: Final = (1 << 7) - 1
ALL_MONTHS: Final = (1 << 13) - 2

CYCLE_DAYS: Final = 146_097
CYCLE_FIRST_DAY: Final = 10_957
"""2000-01-01 as days since 1970: the first day of the cycle that the tables describe."""


class DayRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which days match; masks have bit n for day n, month n or weekday n (0 is Sunday).

    ``both`` asks for day and weekday to match, otherwise one of them is enough (vixie-cron's rule: crontab(5)).
    """

    months: int = ALL_MONTHS
    days: int = 0
    before_last: tuple[int, ...] = ()
    """``L-3`` is 3: days counted back from the month's last."""
    near: tuple[int, ...] = ()
    """``15W``: the Monday to Friday nearest to a day, within its month; a month without that day has none."""
    near_before_last: tuple[int, ...] = ()
    working: tuple[int, ...] = ()
    """Of the month's days from Monday to Friday: 1 is the first, -1 the last; no cron field says others."""
    weekdays: int = 0
    nth: tuple[tuple[int, int], ...] = ()
    """``5#2``: (weekday, which one in the month)."""
    last_weekdays: int = 0
    both: bool = True


def _month_lengths(leap: int) -> tuple[int, ...]:
    return (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_leap(year: int) -> int:
    return int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))


def _cycle() -> tuple[tuple[int, ...], tuple[int, ...]]:
    starts, kinds, day = [], [], 0
    for year in range(2000, 2400):
        starts.append(day)
        # 2000-01-01 was a Saturday, 6.
        kinds.append((day + 6) % 7 + 7 * _is_leap(year))
        day += 365 + _is_leap(year)
    return (*starts, day), tuple(kinds)


YEAR_STARTS, YEAR_KINDS = _cycle()
"""For each year of the cycle: its first day counted from the cycle's, and its kind (index of the mask)."""


def year_of(day: int) -> tuple[int, int]:
    """The year of a day since 1970, and the year's first day since 1970."""
    cycle, rest = divmod(day - CYCLE_FIRST_DAY, CYCLE_DAYS)
    year = rest * 400 // CYCLE_DAYS
    if YEAR_STARTS[year + 1] <= rest:
        year += 1
    elif YEAR_STARTS[year] > rest:
        year -= 1
    return 2000 + 400 * cycle + year, CYCLE_FIRST_DAY + CYCLE_DAYS * cycle + YEAR_STARTS[year]


def year_start(year: int) -> int:
    """The first day of a year, in days since 1970."""
    cycle, rest = divmod(year - 2000, 400)
    return CYCLE_FIRST_DAY + CYCLE_DAYS * cycle + YEAR_STARTS[rest]


@lru_cache(maxsize=4_096)
def year_masks(rule: DayRule) -> tuple[int, ...]:
    """The rule's 14 masks, by kind of year: bit 0 is 1 January."""
    return tuple(_year_mask(rule, first_weekday, leap) for leap in (0, 1) for first_weekday in range(7))


def _year_mask(rule: DayRule, first_weekday: int, leap: int) -> int:
    mask = start = 0
    for month, length in enumerate(_month_lengths(leap), 1):
        if rule.months >> month & 1:
            mask |= _month_mask(rule, (first_weekday + start) % 7, length) << start
        start += length
    return mask


def _month_mask(rule: DayRule, first_weekday: int, length: int) -> int:
    by_day = rule.days >> 1
    for back in rule.before_last:
        by_day |= 1 << length >> (back + 1)
    for day in (*rule.near, *(length - back for back in rule.near_before_last)):
        if 1 <= day <= length:
            by_day |= 1 << (_nearest_working_day(day, first_weekday, length) - 1)
    if rule.working:
        working = [day for day in range(length) if 1 <= (first_weekday + day) % 7 <= 5]
        for which in rule.working:
            if abs(which) <= len(working):
                by_day |= 1 << working[which - 1 if which > 0 else which]

    # The week, turned so that bit 0 is the month's first day, and five copies of it: 35 days cover any month.
    week = rule.weekdays >> first_weekday | rule.weekdays << (7 - first_weekday)
    by_weekday = (week & ALL_WEEKDAYS) * 0x10204081
    for weekday, which in rule.nth:
        by_weekday |= 1 << ((weekday - first_weekday) % 7 + 7 * (which - 1))
    for back in range(7):
        if rule.last_weekdays >> ((first_weekday + length - 1 - back) % 7) & 1:
            by_weekday |= 1 << (length - 1 - back)
    return (by_day & by_weekday if rule.both else by_day | by_weekday) & ((1 << length) - 1)


def _nearest_working_day(day: int, first_weekday: int, length: int) -> int:
    weekday = (first_weekday + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day
