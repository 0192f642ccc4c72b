"""A pattern of wall clock seconds: the first match from a second on, the last up to one, and how many lie between two.

Knows nothing of zones: a wall second counts from 1970-01-01T00:00 on the clock on the wall, and every day has 86,400.
Every answer takes a bounded number of steps: at most one look per year of the 400-year cycle.
"""

from __future__ import annotations

from typing import Final, Protocol

from puntual.timing.cron.days import (
    CYCLE_DAYS,
    CYCLE_FIRST_DAY,
    YEAR_KINDS,
    YEAR_STARTS,
    DayRule,
    year_masks,
    year_of,
    year_start,
)

_DAY: Final = 86_400
_FIRST_YEAR: Final = 1
_LAST_YEAR: Final = 9_999


class Pattern(Protocol):
    """Wall clock seconds; every method is pure and takes a bounded number of steps."""

    def ever_matches(self) -> bool:
        """Whether any date of any year matches."""

    def first(self, wall: int) -> int | None:
        """The earliest match at or after a wall second."""

    def last(self, wall: int) -> int | None:
        """The latest match at or before a wall second."""

    def count(self, low: int, high: int) -> int:
        """How many matches lie from one wall second up to but not including another."""


class WallPattern:
    """Seconds, minutes and hours as masks, and a rule for days; ``years`` limits it to some years, in order."""

    __slots__ = (
        "_first_in_day",
        "_first_in_hour",
        "_first_second",
        "_hours",
        "_last_in_day",
        "_last_in_hour",
        "_last_second",
        "_masks",
        "_minutes",
        "_per_day",
        "_per_hour",
        "_per_minute",
        "_seconds",
        "_year_bounds",
        "_years",
    )

    def __init__(self, seconds: int, minutes: int, hours: int, days: DayRule, years: tuple[int, ...] = ()) -> None:
        self._seconds, self._minutes, self._hours = seconds, minutes, hours
        self._masks = year_masks(days)
        self._years = frozenset(years)
        self._year_bounds = (years[0], years[-1]) if years else (_FIRST_YEAR, _LAST_YEAR)
        self._per_minute = seconds.bit_count()
        self._per_hour = minutes.bit_count() * self._per_minute
        self._per_day = hours.bit_count() * self._per_hour
        self._first_second, self._last_second = _lowest(seconds), seconds.bit_length() - 1
        self._first_in_hour = _lowest(minutes) * 60 + self._first_second
        self._last_in_hour = (minutes.bit_length() - 1) * 60 + self._last_second
        self._first_in_day = _lowest(hours) * 3_600 + self._first_in_hour
        self._last_in_day = (hours.bit_length() - 1) * 3_600 + self._last_in_hour

    def ever_matches(self) -> bool:
        """Whether any date of any year matches: false means that the rule provably never fires."""
        if self._years:
            return any(self._mask(year) for year in self._years)
        return any(self._masks)

    def first(self, wall: int) -> int | None:
        """The earliest match at or after a wall second."""
        day, time = divmod(wall, _DAY)
        # `year_of` written out: this is the hot path, and the call would be a fifth of it.
        cycle, rest = divmod(day - CYCLE_FIRST_DAY, CYCLE_DAYS)
        year = rest * 400 // CYCLE_DAYS
        if YEAR_STARTS[year + 1] <= rest:
            year += 1
        elif YEAR_STARTS[year] > rest:
            year -= 1
        mask = self._mask(2000 + 400 * cycle + year) if self._years else self._masks[YEAR_KINDS[year]]
        mask >>= rest - YEAR_STARTS[year]
        if mask & 1:
            found = self._first_time(time)
            if found is not None:
                return day * _DAY + found
            mask -= 1
        if mask:
            return (day + (mask & -mask).bit_length() - 1) * _DAY + self._first_in_day
        return self._first_in_years_after(2000 + 400 * cycle + year)

    def last(self, wall: int) -> int | None:
        """The latest match at or before a wall second."""
        day, time = divmod(wall, _DAY)
        year, start = year_of(day)
        mask = self._mask(year) & ((2 << (day - start)) - 1)
        if mask >> (day - start) & 1:
            found = self._last_time(time)
            if found is not None:
                return day * _DAY + found
            mask ^= 1 << (day - start)
        if mask:
            return (start + mask.bit_length() - 1) * _DAY + self._last_in_day
        first_year, last_year = self._year_bounds
        latest = min(year - 1, last_year)
        for earlier in range(latest, max(latest - 400, first_year - 1), -1):
            mask = self._mask(earlier)
            if mask:
                return (year_start(earlier) + mask.bit_length() - 1) * _DAY + self._last_in_day
        return None

    def count(self, low: int, high: int) -> int:
        """How many matches lie from one wall second up to but not including another; multiplies days."""
        if low >= high:
            return 0
        low_day, low_time = divmod(low, _DAY)
        high_day, high_time = divmod(high, _DAY)
        total = self._count_days(low_day, high_day) * self._per_day
        if low_time and self._matches_day(low_day):
            total -= self._count_times(low_time)
        if high_time and self._matches_day(high_day):
            total += self._count_times(high_time)
        return total

    def _first_in_years_after(self, year: int) -> int | None:
        first_year, last_year = self._year_bounds
        earliest = max(year + 1, first_year)
        masks, years = self._masks, self._years
        for later in range(earliest, min(earliest + 400, last_year + 1)):
            mask = masks[YEAR_KINDS[later % 400]]
            if mask and (not years or later in years):
                return (year_start(later) + _lowest(mask)) * _DAY + self._first_in_day
        return None

    def _mask(self, year: int) -> int:
        if self._years and year not in self._years:
            return 0
        return self._masks[YEAR_KINDS[year % 400]]

    def _first_time(self, time: int) -> int | None:
        hour, rest = divmod(time, 3_600)
        if self._hours >> hour & 1:
            minute, second = divmod(rest, 60)
            minutes = self._minutes >> minute
            if minutes & 1:
                seconds = self._seconds >> second
                if seconds:
                    return time + (seconds & -seconds).bit_length() - 1
                minutes -= 1
            if minutes:
                minute += (minutes & -minutes).bit_length() - 1
                return hour * 3_600 + minute * 60 + self._first_second
        hours = self._hours >> (hour + 1)
        if hours:
            return (hour + (hours & -hours).bit_length()) * 3_600 + self._first_in_hour
        return None

    def _last_time(self, time: int) -> int | None:
        hour, rest = divmod(time, 3_600)
        if self._hours >> hour & 1:
            minute, second = divmod(rest, 60)
            if self._minutes >> minute & 1:
                seconds = self._seconds & ((2 << second) - 1)
                if seconds:
                    return time - second + seconds.bit_length() - 1
            minutes = self._minutes & ((1 << minute) - 1)
            if minutes:
                return hour * 3_600 + (minutes.bit_length() - 1) * 60 + self._last_second
        hours = self._hours & ((1 << hour) - 1)
        if hours:
            return (hours.bit_length() - 1) * 3_600 + self._last_in_hour
        return None

    def _matches_day(self, day: int) -> bool:
        year, start = year_of(day)
        return bool(self._mask(year) >> (day - start) & 1)

    def _count_days(self, low: int, high: int) -> int:
        year, start = year_of(low)
        last_year, last_start = year_of(high)
        head = self._mask(year) >> (low - start)
        if year == last_year:
            return (head & ((1 << (high - low)) - 1)).bit_count()
        full = sum(self._mask(between).bit_count() for between in range(year + 1, last_year))
        return head.bit_count() + full + (self._mask(last_year) & ((1 << (high - last_start)) - 1)).bit_count()

    def _count_times(self, time: int) -> int:
        """How many matches a matching day has before a time of day."""
        hour, rest = divmod(time, 3_600)
        minute, second = divmod(rest, 60)
        total = (self._hours & ((1 << hour) - 1)).bit_count() * self._per_hour
        if self._hours >> hour & 1:
            total += (self._minutes & ((1 << minute) - 1)).bit_count() * self._per_minute
            if self._minutes >> minute & 1:
                total += (self._seconds & ((1 << second) - 1)).bit_count()
        return total


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
