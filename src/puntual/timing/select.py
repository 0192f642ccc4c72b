"""Some of a rule's ticks: those outside of days, those apart from other ticks, each n-th, and up to the n-th.

Each wrapper asks the ticks that it wraps for counts and jumps by them; none walks further than it says.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from puntual.model.instant import DAY, EARLIEST, LATEST, SECOND, Instant
from puntual.timing.cron.wall import Pattern
from puntual.timing.merge import Ticks, UnionTicks
from puntual.timing.zone import Zone

_A_DAY: Final = 86_400
_UNCAPPED: Final = 1 << 60
_MANY: Final = 10_000_000
_MOST_IN_A_ROW: Final = 25_000
"""So many looks in a row may find closed days, then nothing is left: more than 400 years have weeks."""
_MOST_SHARED: Final = 10_000
"""So many ticks in a row may be taken away one by one, then nothing is left: each minute of a week, or 27 years of
days; a look for them takes up to a second."""
_PIECE: Final = 4_096
"""Where so many are taken away, a count halves the time until it has what it is asked for."""
_STEPS: Final = 32
"""So few ticks are walked, since a search by counts costs more."""


class _Place(NamedTuple):
    """Where a tick lies in a zone: the midnight before it on the wall, and the stretch of one offset around it."""

    start: int
    end: int
    offset: int
    midnight: int


class OutsideTicks:
    """Ticks that do not fall on some days of a zone.

    Args:
        ticks: of any kind.
        closed: the midnights of these days.
        open_: those of all others.
        zone: whose days they are; a tick's day is the one that the clock there shows at its instant.
    """

    __slots__ = ("_closed", "_open", "_ticks", "_zone")

    def __init__(self, ticks: Ticks, closed: Pattern, open_: Pattern, zone: Zone) -> None:
        self._ticks = ticks
        self._closed = closed
        self._open = open_
        self._zone = zone

    def next(self, after: Instant) -> Instant | None:
        """The earliest of them strictly later than ``after``; None where 25,000 closed stretches in a row hold all."""
        tick = self._ticks.next(after)
        for _ in range(_MOST_IN_A_ROW):
            if tick is None:
                return None
            place = self._place(tick)
            opening = self._open.first(place.midnight)
            if opening is None or opening == place.midnight:
                return tick if opening is not None else None
            # Never past the stretch: a clock put back over midnight shows the same days again.
            tick = self._ticks.next(max(tick, min(opening - place.offset, place.end) * SECOND - 1))
        return None

    def previous(self, at: Instant) -> Instant | None:
        """The latest of them at or before ``at``."""
        tick = self._ticks.previous(at)
        for _ in range(_MOST_IN_A_ROW):
            if tick is None:
                return None
            place = self._place(tick)
            opening = self._open.last(place.midnight)
            if opening is None or opening == place.midnight:
                return tick if opening is not None else None
            tick = self._ticks.previous(max(opening + _A_DAY - place.offset, place.start) * SECOND - 1)
        return None

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many of them lie after ``after`` and up to ``until``, exact up to ``cap``; one look per open stretch."""
        total = 0
        tick = self.next(after)
        while tick is not None and tick <= until and total < cap:
            place = self._place(tick)
            closing = self._closed.first(place.midnight)
            last = place.end if closing is None else min(closing - place.offset, place.end)
            end = min(last * SECOND - 1, until)
            total += self._ticks.count(tick - 1, end, cap - total)
            tick = self.next(end)
        return total

    def _place(self, tick: Instant) -> _Place:
        second = tick // SECOND
        zone = self._zone.stretches(second)
        stretch = bisect_right(zone.starts, second) - 1
        end = zone.starts[stretch + 1] if stretch + 1 < len(zone.starts) else zone.known_until
        wall = second + zone.offsets[stretch]
        return _Place(zone.starts[stretch], end, zone.offsets[stretch], wall - wall % _A_DAY)


class ApartTicks:
    """Ticks at whose instant some others have none."""

    __slots__ = ("_removed", "_ticks")

    def __init__(self, ticks: Ticks, removed: Ticks) -> None:
        self._ticks = ticks
        self._removed = removed

    def next(self, after: Instant) -> Instant | None:
        """The earliest of them strictly later than ``after``; None where 10,000 in a row coincide."""
        tick = self._ticks.next(after)
        for _ in range(_MOST_SHARED):
            if tick is None or self._removed.next(tick - 1) != tick:
                return tick
            tick = self._ticks.next(tick)
        return None

    def previous(self, at: Instant) -> Instant | None:
        """The latest of them at or before ``at``; None as for `next`."""
        tick = self._ticks.previous(at)
        for _ in range(_MOST_SHARED):
            if tick is None or self._removed.next(tick - 1) != tick:
                return tick
            tick = self._ticks.previous(tick - 1)
        return None

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many of them lie after ``after`` and up to ``until``, exact up to ``cap``.

        Which of them coincide is not multiplied: this walks the fewer of the two, and not at all where even the most
        that can coincide leave the cap.
        """
        after, until = max(after, EARLIEST - 1), min(until, LATEST)
        if after >= until:
            return 0
        most = max(cap, _PIECE)
        removed = self._removed.count(after, until, most)
        total = self._ticks.count(after, until, cap + removed)
        if removed < most:
            if not removed or total >= cap + removed:
                return min(total, cap)
            return min(total - shared(self._ticks, self._removed, after, until), cap)
        middle = (after + until) // 2
        found = self.count(after, middle, cap)
        return found if found >= cap else found + self.count(middle, until, cap - found)

    def walked(self, after: Instant, until: Instant) -> int:
        """About how many ticks an uncapped count walks."""
        counts = [each.count(after, until, _MANY) for each in (self._ticks, self._removed)]
        return min(counts) + (self._ticks.walked(after, until) if isinstance(self._ticks, UnionTicks) else 0)


def shared(one: Ticks, other: Ticks, after: Instant, until: Instant) -> int:
    """How many ticks after ``after`` and up to ``until`` two have in common; walks those of which there are fewer."""
    size = 1_024
    while True:
        counts = one.count(after, until, size), other.count(after, until, size)
        if min(counts) < size or size >= _UNCAPPED:
            break
        size *= 4
    few, many = (one, other) if counts[0] <= counts[1] else (other, one)
    total = 0
    tick = few.next(after)
    while tick is not None and tick <= until:
        total += many.next(tick - 1) == tick
        tick = few.next(tick)
    return total


class NthTicks:
    """The first tick at or after ``since``, and each ``nth`` one after it; before ``since`` there are none.

    It remembers one instant and its number, so that asking on from there counts only what came since; the answers are
    the same without.
    """

    __slots__ = ("_known", "_nth", "_since", "_ticks")

    def __init__(self, ticks: Ticks, nth: int, since: Instant) -> None:
        self._ticks = ticks
        self._nth = nth
        self._since = since
        self._known = (since - 1, 0)

    def next(self, after: Instant) -> Instant | None:
        """The earliest of them strictly later than ``after``."""
        after = max(after, self._since - 1)
        return nth_after(self._ticks, after, -self._number(after) % self._nth + 1)

    def previous(self, at: Instant) -> Instant | None:
        """The latest of them at or before ``at``."""
        number = self._number(at)
        if not number:
            return None
        back = (number - 1) % self._nth
        if back >= _STEPS:
            return nth_after(self._ticks, self._since - 1, number - back)
        tick = self._ticks.previous(at)
        for _ in range(back):
            tick = None if tick is None else self._ticks.previous(tick - 1)
        return tick

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many of them lie after ``after`` and up to ``until``, exact up to ``cap``; divides a count."""
        if after >= until:
            return 0
        before, last = self._number(after), self._number(until)
        return min(-(-last // self._nth) - -(-before // self._nth), cap)

    def _number(self, at: Instant) -> int:
        """How many ticks there are from ``since`` to an instant, both included."""
        at = min(at, LATEST)
        if at < self._since:
            return 0
        known, number = self._known
        if at >= known:
            number += self._ticks.count(known, at, _UNCAPPED)
        elif known - at < at - self._since:
            number -= self._ticks.count(at, known, _UNCAPPED)
        else:
            number = self._ticks.count(self._since - 1, at, _UNCAPPED)
        self._known = (at, number)
        return number


def nth_after(ticks: Ticks, after: Instant, number: int) -> Instant | None:
    """The tick of a number counted from the first one later than ``after``, which is 1; None where there are fewer.

    Gallops, then halves what it has found, so that no part of the time is counted more than twice.
    """
    low, left, size, high = after, number, DAY, LATEST
    while left > _STEPS:
        tick = ticks.next(low)
        if tick is None:
            return None
        low = tick - 1
        high = min(low + size, LATEST)
        found = ticks.count(low, high, left)
        if found >= left:
            break
        low, left, size = high, left - found, size * 2
    while left > _STEPS and low < high:
        middle = (low + high) // 2
        found = ticks.count(low, middle, left)
        if found >= left:
            high = middle
        else:
            low, left = middle, left - found
    tick = ticks.next(low)
    for _ in range(left - 1):
        tick = None if tick is None else ticks.next(tick)
    return tick
