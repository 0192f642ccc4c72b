"""A pattern narrowed: between two wall seconds, or without what others match, before what is left of it moves.

Only rules whose ticks move need this. All others are bounded and taken away by the instant, in `merge` and `select`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from puntual.timing.cron.wall import Pattern

_MOST_SHARED: Final = 10_000
"""So many matches in a row may be taken away, then nothing is left: 27 years of days."""


class BoundedPattern:
    """The matches of a pattern from one wall second to another, both included; None leaves an end open."""

    __slots__ = ("_first", "_last", "_pattern")

    def __init__(self, pattern: Pattern, first: int | None, last: int | None) -> None:
        self._pattern = pattern
        self._first = first
        self._last = last

    def ever_matches(self) -> bool:
        """Whether any date between the bounds matches."""
        return self._pattern.ever_matches() if self._first is None else self.first(self._first) is not None

    def first(self, wall: int) -> int | None:
        """The earliest match within the bounds at or after a wall second."""
        found = self._pattern.first(wall if self._first is None else max(wall, self._first))
        return None if found is None or (self._last is not None and found > self._last) else found

    def last(self, wall: int) -> int | None:
        """The latest match within the bounds at or before a wall second."""
        found = self._pattern.last(wall if self._last is None else min(wall, self._last))
        return None if found is None or (self._first is not None and found < self._first) else found

    def count(self, low: int, high: int) -> int:
        """How many matches within the bounds lie from one wall second up to but not including another."""
        low = low if self._first is None else max(low, self._first)
        high = high if self._last is None else min(high, self._last + 1)
        return self._pattern.count(low, high) if low < high else 0


class ApartPattern:
    """The matches of a pattern of a few times a day that none of some others has."""

    __slots__ = ("_pattern", "_removed")

    def __init__(self, pattern: Pattern, removed: Sequence[Pattern]) -> None:
        self._pattern = pattern
        self._removed = removed

    def ever_matches(self) -> bool:
        """Whether any date matches, since the beginning of 1970 or before it."""
        return self.first(0) is not None or self.last(-1) is not None

    def first(self, wall: int) -> int | None:
        """The earliest match at or after a wall second; None where 10,000 in a row are taken away."""
        found = self._pattern.first(wall)
        for _ in range(_MOST_SHARED):
            if found is None or not self._taken(found):
                return found
            found = self._pattern.first(found + 1)
        return None

    def last(self, wall: int) -> int | None:
        """The latest match at or before a wall second; None as for `first`."""
        found = self._pattern.last(wall)
        for _ in range(_MOST_SHARED):
            if found is None or not self._taken(found):
                return found
            found = self._pattern.last(found - 1)
        return None

    def count(self, low: int, high: int) -> int:
        """How many matches lie from one wall second up to but not including another; walks them."""
        total = 0
        found = self._pattern.first(low)
        while found is not None and found < high:
            total += not self._taken(found)
            found = self._pattern.first(found + 1)
        return total

    def _taken(self, wall: int) -> bool:
        return any(each.first(wall) == wall for each in self._removed)
