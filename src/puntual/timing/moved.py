"""A pattern whose matches on closed days move to the next or the previous open day, at the same time of day.

It moves wall clock times, so that what a clock change does to the moved time is decided where all such is: by the ticks
of the pattern. Matches that fall together are one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from puntual.model.errors import InvalidRuleError
from puntual.timing.calendar import Otherwise
from puntual.timing.closures import FURTHEST, OpenDays
from puntual.timing.cron.wall import Pattern

_DAY: Final = 86_400
_MOST_A_DAY: Final = 100
_KEPT: Final = 1_024
"""So many open days are kept worked out: a count of some years asks for each of them."""


class Moves(NamedTuple):
    """Where what falls on a closed day goes: ``otherwise`` is next or previous."""

    days: OpenDays
    otherwise: Otherwise

    def day(self, day: int) -> int | None:
        """The day itself if it is open, else the nearest open one; None where there is none."""
        return self.days.on_or_before(day) if self.otherwise == "previous" else self.days.on_or_after(day)


def moved(pattern: Pattern, moves: Moves | None, *, elapsed: bool) -> Pattern:
    """The pattern, moved if it is to be.

    Raises:
        InvalidRuleError: it repeats within the day, so there is no time of day to keep, or comes more than a hundred
            times a day.
    """
    if moves is None:
        return pattern
    if elapsed or _often(pattern):
        raise not_moved()
    return MovedPattern(pattern, moves)


def not_moved() -> InvalidRuleError:
    """The refusal to move what repeats within the day."""
    return InvalidRuleError(
        "only fixed times move to another day, and this rule repeats within the day: write otherwise: skip",
        field="calendars.otherwise",
    )


def _often(pattern: Pattern) -> bool:
    """Whether it has more than a hundred times a day in the year of its first match since 1970."""
    first = pattern.first(0)
    return first is not None and pattern.count(first, first + 366 * _DAY) > 366 * _MOST_A_DAY


class _Landed(NamedTuple):
    """What comes to an open day: from which first to which last day, and at what times, each once."""

    first: int
    last: int
    times: list[int]


class MovedPattern:
    """Each match on its day if that is open, else on the nearest open day in one direction.

    Args:
        pattern: what is moved; of fixed times, a few a day.
        moves: which days are open, and the direction.
    """

    __slots__ = ("_days", "_forward", "_known", "_pattern", "_target")

    def __init__(self, pattern: Pattern, moves: Moves) -> None:
        self._pattern = pattern
        self._days = moves.days
        self._target = moves.day
        self._forward = moves.otherwise == "next"
        self._known: dict[int, _Landed] = {}

    def ever_matches(self) -> bool:
        """Whether any date of any year matches."""
        return self._pattern.ever_matches()

    def first(self, wall: int) -> int | None:
        """The earliest moved match at or after a wall second."""
        day = self._days.on_or_after(wall // _DAY)
        if day is None:
            return None
        landed = self._landed(day)
        place = bisect_left(landed.times, wall - day * _DAY)
        if place < len(landed.times):
            return day * _DAY + landed.times[place]
        found = self._pattern.first((landed.last + 1) * _DAY)
        target = None if found is None else self._target(found // _DAY)
        return None if target is None else target * _DAY + self._landed(target).times[0]

    def last(self, wall: int) -> int | None:
        """The latest moved match at or before a wall second."""
        day = self._days.on_or_before(wall // _DAY)
        if day is None:
            return None
        landed = self._landed(day)
        place = bisect_right(landed.times, wall - day * _DAY)
        if place:
            return day * _DAY + landed.times[place - 1]
        found = self._pattern.last(landed.first * _DAY - 1)
        target = None if found is None else self._target(found // _DAY)
        return None if target is None else target * _DAY + self._landed(target).times[-1]

    def count(self, low: int, high: int) -> int:
        """How many moved matches lie from one wall second up to but not including another; walks open stretches."""
        total = 0
        day = self._days.on_or_after(low // _DAY)
        while day is not None and day * _DAY < high:
            landed = self._landed(day)
            if landed.first != landed.last or day * _DAY < low:
                # A day that others moved to, or one that begins before the range.
                times = landed.times
                total += bisect_left(times, high - day * _DAY) - bisect_left(times, low - day * _DAY)
                day = self._days.on_or_after(day + 1)
                continue
            end = self._days.same_until(day) or -(-high // _DAY)
            if not self._forward and not self._days.open(end):
                end -= 1
            end = max(end, day + 1)
            total += self._pattern.count(day * _DAY, min(end * _DAY, high))
            day = self._days.on_or_after(end)
        return total

    def _landed(self, day: int) -> _Landed:
        """What comes to an open day."""
        found = self._known.get(day)
        if found is None:
            first, last = self._sources(day)
            found = _Landed(first, last, self._times(first, last))
            if len(self._known) >= _KEPT:
                self._known = {}
            self._known[day] = found
        return found

    def _sources(self, day: int) -> tuple[int, int]:
        """The first and the last of the days whose matches come to an open day: it, and the closed ones beside it."""
        other = day
        step = -1 if self._forward else 1
        while not self._days.open(other + step) and abs(other - day) < FURTHEST:
            other += step
        return (other, day) if self._forward else (day, other)

    def _times(self, first: int, last: int) -> list[int]:
        """The times of some days, each once."""
        found: set[int] = set()
        wall = self._pattern.first(first * _DAY)
        while wall is not None and wall < (last + 1) * _DAY:
            found.add(wall % _DAY)
            wall = self._pattern.first(wall + 1)
        return sorted(found)
