"""Times of day on days, for what no cron expression can say: free times, stretches of the day, cycles, working days.

Which days is kept in the words of cron's fields where those suffice; everything else stands beside them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND
from puntual.model.said import said
from puntual.timing.cron.days import ALL_WEEKDAYS, DayRule, year_start
from puntual.timing.cron.grammar import CronSpec, parse_cron
from puntual.timing.cron.wall import Pattern, WallPattern
from puntual.timing.zone import Fold, Gap

_DAY: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()
LONGEST_CYCLE: Final = 3_660


class ClockRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="clock"):
    """Times of day on days.

    Args:
        at: times like ``07:40``; or, in place of them,
        every_us, since, until: the period with which it repeats from one time to another, both included.
        day, month, weekday: which days, as the fields of a unix cron expression; day and weekday never both.
        working_days: 1 for a month's first Monday to Friday, -1 for its last, and so on.
        cycle_days, anchor: only each n-th day from the anchor's date on, or, with a weekday, only the weekdays of each
            n-th week, the first of which begins on that date. The cycle goes back before the anchor too.
        dst_gap, dst_fold: None are the defaults of cron: those of fixed times for ``at``, elapsed time for ``every``.
    """

    at: tuple[str, ...] = ()
    every_us: int = 0
    since: str = ""
    until: str = ""
    day: str = "*"
    month: str = "*"
    weekday: str = "*"
    working_days: tuple[int, ...] = ()
    cycle_days: int = 0
    anchor: str = ""
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None

    @property
    def elapsed(self) -> bool:
        """Whether it repeats by itself within the day, and so follows elapsed time through gaps and folds."""
        return bool(self.every_us)


class CycleDays:
    """Midnights of a cycle of days, as a pattern answers: bit n of the mask is the n-th day after the anchor."""

    __slots__ = ("_anchor", "_mask", "_size")

    #: No kind of year decides its days, and no year is named.
    yearly: bool = False
    special: tuple[int, int] | None = None

    def __init__(self, anchor: int, size: int, mask: int) -> None:
        self._anchor = anchor
        self._size = size
        self._mask = mask

    def ever_matches(self) -> bool:
        """Whether the cycle has any day."""
        return bool(self._mask)

    def first(self, wall: int) -> int | None:
        """The earliest midnight at or after a wall second."""
        day = -(-wall // _DAY)
        place = (day - self._anchor) % self._size
        ahead = self._mask >> place
        if ahead:
            return (day + (ahead & -ahead).bit_length() - 1) * _DAY
        return (day - place + self._size + (self._mask & -self._mask).bit_length() - 1) * _DAY

    def last(self, wall: int) -> int | None:
        """The latest midnight at or before a wall second."""
        day = wall // _DAY
        place = (day - self._anchor) % self._size
        behind = self._mask & ((2 << place) - 1)
        if behind:
            return (day - place + behind.bit_length() - 1) * _DAY
        return (day - place - self._size + self._mask.bit_length() - 1) * _DAY

    def count(self, low: int, high: int) -> int:
        """How many midnights lie from one wall second up to but not including another; multiplies cycles."""
        return max(0, self._before(-(-high // _DAY)) - self._before(-(-low // _DAY)))

    def mask(self, year: int) -> int:
        """Its days in a year: bit 0 is 1 January."""
        start, end = year_start(year), year_start(year + 1)
        place = (start - self._anchor) % self._size
        days = self._mask >> place | self._mask << (self._size - place)
        known = self._size
        days &= (1 << known) - 1
        while known < end - start:
            days |= days << known
            known *= 2
        return days & ((1 << (end - start)) - 1)

    def _before(self, day: int) -> int:
        cycles, rest = divmod(day - self._anchor, self._size)
        return cycles * self._mask.bit_count() + (self._mask & ((1 << rest) - 1)).bit_count()


class ClockPattern:
    """Times of day on days, as a pattern of wall clock seconds."""

    __slots__ = ("_days", "_times")

    def __init__(self, days: Pattern, times: Sequence[int]) -> None:
        self._days = days
        self._times = times

    def ever_matches(self) -> bool:
        """Whether any day of any year matches."""
        return self._days.ever_matches()

    def first(self, wall: int) -> int | None:
        """The earliest match at or after a wall second."""
        time = wall % _DAY
        midnight = self._days.first(wall - time)
        if midnight == wall - time:
            place = bisect_left(self._times, time)
            if place < len(self._times):
                return midnight + self._times[place]
            midnight = self._days.first(wall - time + _DAY)
        return None if midnight is None else midnight + self._times[0]

    def last(self, wall: int) -> int | None:
        """The latest match at or before a wall second."""
        time = wall % _DAY
        midnight = self._days.last(wall)
        if midnight == wall - time:
            place = bisect_right(self._times, time)
            if place:
                return midnight + self._times[place - 1]
            midnight = self._days.last(wall - time - 1)
        return None if midnight is None else midnight + self._times[-1]

    def count(self, low: int, high: int) -> int:
        """How many matches lie from one wall second up to but not including another; multiplies days."""
        if low >= high:
            return 0
        first, last = low - low % _DAY, high - high % _DAY
        total = self._days.count(first, last) * len(self._times)
        if self._days.count(first, first + 1):
            total -= bisect_left(self._times, low - first)
        if self._days.count(last, last + 1):
            total += bisect_left(self._times, high - last)
        return total


class ClockSpec(msgspec.Struct, frozen=True):
    """A rule understood: what its fields for days say, and its times as seconds of the day."""

    fields: CronSpec
    days: DayRule
    times: Sequence[int]


@lru_cache(maxsize=4_096)
def clock_spec(rule: ClockRule) -> ClockSpec:
    """What the parts of a rule mean.

    Raises:
        InvalidRuleError: a part is wrong, or no date ever matches.
    """
    fields = parse_cron(f"0 0 {rule.day} {rule.month} {rule.weekday}", "unix", "")
    days = fields.days
    if rule.working_days:
        if not all(1 <= abs(which) <= 23 for which in rule.working_days):
            raise InvalidRuleError("a month has 1 to 23 working days", field="working_days")
        days = DayRule(months=days.months, working=rule.working_days, weekdays=ALL_WEEKDAYS)
    return ClockSpec(fields, days, _times(rule))


def clock_pattern(rule: ClockRule) -> ClockPattern:
    """The pattern of wall clock seconds at which a rule is due.

    Raises:
        InvalidRuleError: a part is wrong, or no date ever matches.
    """
    spec = clock_spec(rule)
    pattern = ClockPattern(
        cycle_of(rule, spec.days) if rule.cycle_days else WallPattern(1, 1, 1, spec.days), spec.times
    )
    if not pattern.ever_matches():
        raise InvalidRuleError("this never fires: no date has such a day")
    return pattern


def anchor_day(rule: ClockRule) -> int:
    """The anchor's day since 1970.

    Raises:
        InvalidRuleError: it is no date.
    """
    return day_number(rule.anchor, field="anchor")


def day_number(text: str, *, field: str | None = None) -> int:
    """The day since 1970 that a date like ``2027-01-31`` names.

    Raises:
        InvalidRuleError: it is no date.
    """
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH
    except ValueError as error:
        raise InvalidRuleError(said("{text!r} is no date like 2027-01-31", text=text[:40]), field=field) from error


def day_text(day: int) -> str:
    """A day since 1970 as ``2027-01-31``.

    Raises:
        InvalidRuleError: it lies outside the years 1 to 9999; only an anchor can.
    """
    try:
        return date.fromordinal(day + _EPOCH).isoformat()
    except (ValueError, OverflowError) as error:
        raise InvalidRuleError(
            "what is counted from there begins outside the years 1 to 9999: choose an anchor within them",
            field="anchor",
        ) from error


def time_text(second: int) -> str:
    """A second of the day as ``07:40``, with seconds where there are some."""
    minute, second = divmod(second, 60)
    return f"{minute // 60:02}:{minute % 60:02}" + (f":{second:02}" if second else "")


def cycle_of(rule: ClockRule, days: DayRule) -> CycleDays:
    """The days of a rule that counts them in a cycle.

    Raises:
        InvalidRuleError: the cycle or its anchor is wrong.
    """
    if not 1 <= rule.cycle_days <= LONGEST_CYCLE:
        raise InvalidRuleError(f"a cycle has 1 to {LONGEST_CYCLE} days", field="cycle_days")
    anchor = anchor_day(rule)
    mask = 1
    if rule.weekday != "*":
        if rule.cycle_days % 7:
            raise InvalidRuleError("a cycle of weekdays has whole weeks", field="cycle_days")
        # Day 0 since 1970 was a Thursday, 4.
        mask = sum(1 << ahead for ahead in range(7) if days.weekdays >> ((anchor + ahead + 4) % 7) & 1)
    return CycleDays(anchor, rule.cycle_days, mask)


def _times(rule: ClockRule) -> Sequence[int]:
    if not rule.every_us:
        times = sorted({_second(time) for time in rule.at})
        if not times:
            raise InvalidRuleError("a clock rule needs a time", field="at")
        return times
    step, rest = divmod(rule.every_us, SECOND)
    first, last = _second(rule.since), _second(rule.until)
    if step < 1 or rest or first > last:
        raise InvalidRuleError("a stretch of the day goes forward in steps of whole seconds", field="every_us")
    return range(first, last + 1, step)


def _second(text: str) -> int:
    parts = text.split(":")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() and len(part) == 2 for part in parts):
        raise InvalidRuleError(f"{text[:40]!r} is no time like 09:30", field="at")
    hour, minute, second = (int(part) for part in (*parts, "0")[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidRuleError(f"{text!r} is no time of day", field="at")
    return hour * 3_600 + minute * 60 + second
