"""A recurrence rule becomes a pattern of wall clock seconds: its dates times its times of day, or a grid of seconds.

Frequencies of a day or longer have the same times on each of their dates. Shorter ones are a grid where no part limits
them; where one does, the days fall into a few classes, each with its own times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from math import gcd
from typing import Final, overload

from puntual.model.errors import InvalidRuleError
from puntual.timing.clock import ClockPattern
from puntual.timing.cron.days import CYCLE_DAYS, year_of
from puntual.timing.cron.wall import Pattern
from puntual.timing.recurrence.complete import coarsest
from puntual.timing.recurrence.days import DateRule, EveryDays, EveryMonths, EveryYears, Phase, RuleDays
from puntual.timing.recurrence.spec import PERIODS, RruleSpec

_DAY: Final = 86_400
_MOST_PARTS: Final = 60
_MOST_TIMES: Final = 20_000
_MOST_LISTED: Final = 1_440


def wall_pattern(spec: RruleSpec, start: int) -> Pattern:
    """The pattern of a completed rule whose DTSTART is the wall second ``start``; it goes on before that second too.

    Raises:
        InvalidRuleError: no second ever matches, or the times of day are too many to keep.
    """
    spec = coarsest(spec, start)
    pattern = _within_day(spec, start) if spec.within_day else _on_days(spec, start)
    if pattern is None or pattern.first(start) is None:
        raise InvalidRuleError("this never fires: no date and time has all that the parts of the rule ask for")
    return pattern


class Times(Sequence[int]):
    """Times of day as seconds, kept as the beginnings of units and what comes within each."""

    __slots__ = ("_units", "_within")

    def __init__(self, units: Sequence[int], within: Sequence[int]) -> None:
        self._units, self._within = units, within

    def __len__(self) -> int:
        return len(self._units) * len(self._within)

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...

    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        unit, rest = divmod(place, len(self._within))
        return self._units[unit] + self._within[rest]


class GridPattern:
    """Some seconds of each n-th minute or hour, whatever the date."""

    __slots__ = ("_anchor", "_size", "_within")

    def __init__(self, size: int, anchor: int, within: tuple[int, ...]) -> None:
        self._size, self._anchor, self._within = size, anchor, within

    def ever_matches(self) -> bool:
        """Always: a grid has no end."""
        return True

    def first(self, wall: int) -> int | None:
        """The earliest match at or after a wall second."""
        place = (wall - self._anchor) % self._size
        unit = wall - place
        later = bisect_right(self._within, place - 1)
        if later < len(self._within):
            return unit + self._within[later]
        return unit + self._size + self._within[0]

    def last(self, wall: int) -> int | None:
        """The latest match at or before a wall second."""
        place = (wall - self._anchor) % self._size
        unit = wall - place
        later = bisect_right(self._within, place)
        return unit + self._within[later - 1] if later else unit - self._size + self._within[-1]

    def count(self, low: int, high: int) -> int:
        """How many matches lie from one wall second up to but not including another."""
        return max(0, self._before(high) - self._before(low))

    def _before(self, wall: int) -> int:
        units, place = divmod(wall - self._anchor, self._size)
        return units * len(self._within) + bisect_right(self._within, place - 1)


class EitherPattern:
    """Patterns that share no second, as one."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Pattern]) -> None:
        self._parts = parts

    def ever_matches(self) -> bool:
        """Whether any of them does."""
        return any(part.ever_matches() for part in self._parts)

    def first(self, wall: int) -> int | None:
        """The earliest match of any at or after a wall second."""
        return min((found for part in self._parts if (found := part.first(wall)) is not None), default=None)

    def last(self, wall: int) -> int | None:
        """The latest match of any at or before a wall second."""
        return max((found for part in self._parts if (found := part.last(wall)) is not None), default=None)

    def count(self, low: int, high: int) -> int:
        """How many matches of all of them lie from one wall second up to but not including another."""
        return sum(part.count(low, high) for part in self._parts)


def _date_rule(spec: RruleSpec, positions: tuple[int, ...] = ()) -> DateRule:
    return DateRule(
        freq=spec.freq,
        months=spec.by_month,
        month_days=spec.by_month_day,
        year_days=spec.by_year_day,
        week_numbers=spec.by_week_no,
        weekdays=spec.by_day,
        week_start=spec.week_start,
        positions=positions,
    )


def _phase(spec: RruleSpec, start: int) -> Phase | None:
    if spec.interval == 1:
        return None
    day = start // _DAY
    match spec.freq:
        case "YEARLY":
            return EveryYears(spec.interval, year_of(day)[0])
        case "MONTHLY":
            month = datetime.fromtimestamp(start, UTC)
            return EveryMonths(spec.interval, month.year * 12 + month.month - 1)
        case "WEEKLY":
            # Day 0 since 1970 was a Thursday, 3 from Monday.
            return EveryDays(7 * spec.interval, day - (day + 3 - spec.week_start) % 7, ones=7)
        case _:
            return EveryDays(spec.interval, day)


def _on_days(spec: RruleSpec, start: int) -> Pattern:
    phase = _phase(spec, start)
    minutes = tuple(hour * 3_600 + minute * 60 for hour, minute in product(spec.by_hour, spec.by_minute))
    times = _times(minutes, spec.by_second)
    if not spec.by_set_pos:
        return ClockPattern(RuleDays(_date_rule(spec), phase), times)
    size = len(times)
    # The k-th of n days with s times each is the time k % s of the day k // s; days are the same for all times.
    chosen: dict[int, set[int]] = {}
    for position in spec.by_set_pos:
        back = position < 0
        day, time = divmod(-position - 1 if back else position - 1, size)
        chosen.setdefault(size - 1 - time if back else time, set()).add(-day - 1 if back else day + 1)
    if spec.freq == "DAILY":
        kept = sorted(times[time] for time, days in chosen.items() if days & {1, -1})
        if not kept:
            raise InvalidRuleError(f"this never fires: a day has only {size} times for BYSETPOS to choose from")
        return ClockPattern(RuleDays(_date_rule(spec), phase), kept)
    groups: dict[tuple[int, ...], list[int]] = {}
    for time, days in sorted(chosen.items()):
        groups.setdefault(tuple(sorted(days)), []).append(times[time])
    _check_parts(len(groups), "BYSETPOS")
    return _either([ClockPattern(RuleDays(_date_rule(spec, days), phase), kept) for days, kept in groups.items()])


def _within_day(spec: RruleSpec, start: int) -> Pattern | None:
    size = PERIODS[spec.freq]
    within = _within(spec)
    limits = (spec.by_month, spec.by_day, spec.by_month_day, spec.by_year_day, *_clock_limits(spec))
    if not within:
        return None
    if not any(limits):
        return GridPattern(size * spec.interval, start // size * size, within)
    dates = _date_rule(spec)
    if not RuleDays(dates, None).ever_matches():
        return None
    in_day, day = _DAY // size, start // _DAY
    classes = spec.interval // gcd(in_day, spec.interval)
    _check_parts(classes, "INTERVAL")
    # A class has dates if one of the cycle of the calendar lies as far into it, by what both cycles share.
    cycle = gcd(classes, CYCLE_DAYS)
    dated = [RuleDays(dates, EveryDays(cycle, day + later)).ever_matches() for later in range(cycle)]
    parts: list[Pattern] = []
    listed = 0
    for later in range(classes):
        # Days as far apart as there are classes have the same times: they lie a multiple of INTERVAL apart.
        units = _units(spec, (start // size - (day + later) * in_day) % spec.interval)
        if units and dated[later % cycle]:
            days = RuleDays(dates, EveryDays(classes, day + later) if classes > 1 else None)
            parts.append(ClockPattern(days, _times(units, within)))
            listed += 0 if isinstance(units, range) else len(units)
    if listed > _MOST_TIMES:
        raise InvalidRuleError(
            f"INTERVAL={spec.interval} does not divide a minute, and BYHOUR, BYMINUTE and BYSECOND leave {listed} "
            f"different times of it, {_MOST_TIMES} are the most: choose an INTERVAL that divides 60"
        )
    return _either(parts) if parts else None


def _within(spec: RruleSpec) -> tuple[int, ...]:
    """The seconds of a period at which the rule is due, after BYSETPOS."""
    match spec.freq:
        case "HOURLY":
            within = tuple(minute * 60 + second for minute, second in product(spec.by_minute, spec.by_second))
        case "MINUTELY":
            within = spec.by_second
        case _:
            within = (0,)
    if not spec.by_set_pos:
        return within
    places = {position - 1 if position > 0 else len(within) + position for position in spec.by_set_pos}
    return tuple(within[place] for place in sorted(places) if 0 <= place < len(within))


def _clock_limits(spec: RruleSpec) -> tuple[tuple[int, ...], ...]:
    """The hours, minutes and seconds that limit which periods of a day count; what lies within one is no limit."""
    minutes = () if spec.freq == "HOURLY" else spec.by_minute
    return spec.by_hour, minutes, spec.by_second if spec.freq == "SECONDLY" else ()


def _units(spec: RruleSpec, phase: int) -> Sequence[int]:
    """The beginnings of a day's periods that count, which are those from ``phase`` on in steps of INTERVAL."""
    size = PERIODS[spec.freq]
    found = range(phase * size, _DAY, size * spec.interval)
    hours, minutes, seconds = (set(limit) for limit in _clock_limits(spec))
    if not (hours or minutes or seconds):
        return found
    return [
        second
        for second in found
        if (not hours or second // 3_600 in hours)
        and (not minutes or second // 60 % 60 in minutes)
        and (not seconds or second % 60 in seconds)
    ]


def _times(units: Sequence[int], within: Sequence[int]) -> Sequence[int]:
    """The times of day, written out where they are few."""
    if len(within) == 1 and not within[0]:
        return units
    if len(units) * len(within) > _MOST_LISTED:
        return Times(units, within)
    return [unit + second for unit in units for second in within]


def _either(parts: Sequence[Pattern]) -> Pattern:
    return parts[0] if len(parts) == 1 else EitherPattern(parts)


def _check_parts(count: int, name: str) -> None:
    if count > _MOST_PARTS:
        raise InvalidRuleError(
            f"{name} gives {count} different kinds of days, {_MOST_PARTS} are the most: choose an INTERVAL that "
            "divides a day, fewer positions, or fewer parts that limit the rule"
        )
