"""A wall pattern in a zone: the ticks, strictly increasing, whatever the clocks there do.

The zone is a row of stretches in which wall = UTC + offset. Within one the pattern does the work; the rule's policies
only say what is added at its start (a gap) or cut from its ends (a fold). Nothing is remembered between calls.
"""

from __future__ import annotations

from bisect import bisect_right

from puntual.model.instant import SECOND, Instant
from puntual.timing.cron.wall import Pattern
from puntual.timing.zone import FIRST_SECOND, LAST_SECOND, Fold, Gap, Stretches, Zone

_MARGIN = 2 * 86_400
"""Wall and UTC are never further apart: what is asked of a zone reaches this much beyond a wall second."""


class CronTicks:
    """The ticks of one pattern in one zone under one pair of policies."""

    __slots__ = ("_fold", "_gap", "_pattern", "_zone")

    def __init__(self, pattern: Pattern, zone: Zone, gap: Gap, fold: Fold) -> None:
        self._pattern = pattern
        self._zone = zone
        self._gap = gap
        self._fold = fold

    def next(self, after: Instant) -> Instant | None:
        """The earliest tick strictly later than ``after``, or None up to the year 9999."""
        second = max(after // SECOND + 1, FIRST_SECOND)
        zone = self._zone.stretches(second)
        stretch = bisect_right(zone.starts, second) - 1
        offset = zone.offsets[stretch]
        wall = second + offset
        if wall >= zone.calm_from[stretch]:
            found = self._pattern.first(wall)
            if found is not None and found < zone.calm_until[stretch]:
                return (found - offset) * SECOND if found - offset <= LAST_SECOND else None
            if found is None or found >= zone.wall_highs[stretch]:
                return self._next_beyond(stretch)
        return self._next_near_change(second, stretch)

    def previous(self, at: Instant) -> Instant | None:
        """The latest tick at or before ``at``, or None down to the year 1."""
        second = min(at // SECOND, LAST_SECOND)
        zone = self._zone.stretches(second)
        stretch = bisect_right(zone.starts, second) - 1
        while second >= FIRST_SECOND:
            tick = self._latest(zone, stretch, second)
            if tick is not None:
                return tick * SECOND if tick >= FIRST_SECOND else None
            if not stretch:
                return None
            # Nothing here, so nothing in any stretch whose walls all lie after the next match further back.
            second = zone.starts[stretch] - 1
            highest = second + max(zone.offsets[stretch - 1], zone.offsets[stretch])
            probe = self._pattern.last(highest)
            if probe is None:
                return None
            holder = bisect_right(zone.wall_lows, probe) - 1
            stretch -= 1
            if holder < stretch:
                stretch = holder
                second = zone.starts[stretch + 1] - 1
        return None

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many ticks lie after ``after`` and up to ``until``, exact up to ``cap``; multiplies days."""
        low = max(after // SECOND + 1, FIRST_SECOND)
        high = min(until // SECOND, LAST_SECOND)
        zone = self._zone.stretches(high + _MARGIN)
        stretch = bisect_right(zone.starts, low) - 1
        total = 0
        while low <= high and total < cap:
            end = zone.starts[stretch + 1] - 1 if stretch + 1 < len(zone.starts) else high
            total += self._count(zone, stretch, low, min(end, high))
            low = end + 1
            stretch += 1
        return min(total, cap)

    def _next_near_change(self, second: int, stretch: int) -> Instant | None:
        """The earliest tick at or after a second of a stretch, where the policies may have a say."""
        tick = self._earliest(stretch, second)
        if tick is None:
            return self._next_beyond(stretch)
        return tick * SECOND if tick <= LAST_SECOND else None

    def _next_beyond(self, stretch: int) -> Instant | None:
        """The earliest tick of the stretches after one.

        The first match after the stretch's end names the next stretch that can hold a tick: those between the two are
        passed over, so that a leap day costs no more than a Monday.
        """
        zone = self._zone.stretches()
        while True:
            if stretch + 1 == len(zone.starts):
                zone = self._zone.stretches(zone.known_until)
                if stretch + 1 == len(zone.starts):
                    return None
            stretch += 1
            lowest = zone.starts[stretch] + min(zone.offsets[stretch - 1], zone.offsets[stretch])
            probe = self._pattern.first(lowest)
            if probe is None:
                return None
            zone = self._zone.stretches(probe + _MARGIN)
            stretch = max(stretch, bisect_right(zone.wall_highs, probe))
            tick = self._earliest(stretch, zone.starts[stretch])
            if tick is not None:
                return tick * SECOND if tick <= LAST_SECOND else None

    def _earliest(self, stretch: int, second: int) -> int | None:
        """The stretch's earliest tick at or after a second within it."""
        zone = self._zone.stretches(second + _MARGIN)
        offset = zone.offsets[stretch]
        found = self._pattern.first(max(self._walls(zone, stretch)[0], second + offset))
        if found is not None:
            # The last known stretch has no end yet: the zone has to be known as far as the match.
            zone = self._zone.stretches(found + _MARGIN)
        tick = found - offset if found is not None and found < self._walls(zone, stretch)[1] else None
        start, before, gap_high = self._gap_before(zone, stretch)
        if self._gap == "boundary" and second <= start and self._any(start + before, gap_high):
            return start
        if self._gap == "shift":
            found = self._pattern.first(max(start, second) + before)
            if found is not None and found < gap_high and (tick is None or found - before < tick):
                return found - before
        return tick

    def _latest(self, zone: Stretches, stretch: int, second: int) -> int | None:
        """The stretch's latest tick at or before a second within it."""
        offset = zone.offsets[stretch]
        low, high = self._walls(zone, stretch)
        found = self._pattern.last(min(high - 1, second + offset))
        tick = found - offset if found is not None and found >= low else None
        start, before, gap_high = self._gap_before(zone, stretch)
        if self._gap == "boundary" and tick is None and self._any(start + before, gap_high):
            return start
        if self._gap == "shift":
            found = self._pattern.last(min(second + before, gap_high - 1))
            if found is not None and found >= start + before and (tick is None or found - before > tick):
                return found - before
        return tick

    def _count(self, zone: Stretches, stretch: int, first: int, last: int) -> int:
        """How many ticks the stretch has from one of its seconds to another, both included."""
        offset = zone.offsets[stretch]
        low, high = self._walls(zone, stretch)
        total = self._pattern.count(max(low, first + offset), min(high, last + offset + 1))
        start, before, gap_high = self._gap_before(zone, stretch)
        if self._gap == "boundary" and first <= start and self._any(start + before, gap_high):
            return total + (not self._any(start + offset, start + offset + 1))
        if self._gap == "shift":
            wall, end = max(start, first) + before, min(gap_high, last + before + 1)
            total += self._pattern.count(wall, end)
            # A shifted time that falls on another tick is one tick with it. A gap is short, so this may walk.
            while (found := self._pattern.first(wall)) is not None and found < end:
                real = found - before + offset
                total -= self._any(real, real + 1)
                wall = found + 1
        return total

    def _walls(self, zone: Stretches, stretch: int) -> tuple[int, int]:
        """The wall seconds, from and up to but not including, that count in a stretch: a fold belongs to one of two."""
        offset = zone.offsets[stretch]
        low = high = offset
        if self._fold == "first" and stretch:
            low = max(offset, zone.offsets[stretch - 1])
        if self._fold == "last" and stretch + 1 < len(zone.offsets):
            high = min(offset, zone.offsets[stretch + 1])
        return zone.starts[stretch] + low, zone.wall_highs[stretch] - offset + high

    def _gap_before(self, zone: Stretches, stretch: int) -> tuple[int, int, int]:
        """The stretch's start, the offset before it, and the wall second at which a gap between the two ends."""
        start = zone.starts[stretch]
        before = zone.offsets[stretch - 1] if stretch else zone.offsets[0]
        return start, before, start + max(before, zone.offsets[stretch])

    def _any(self, low: int, high: int) -> bool:
        found = self._pattern.first(low) if low < high else None
        return found is not None and found < high
