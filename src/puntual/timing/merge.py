"""Ticks made of other ticks: a short list of instants, several rules as one, and a rule between two bounds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, Protocol

from puntual.model.instant import Instant

_MANY: Final = 10_000_000


class Ticks(Protocol):
    """Ticks in strictly increasing order; every method is pure and takes a bounded number of steps."""

    def next(self, after: Instant) -> Instant | None:
        """The earliest tick strictly later than ``after``."""

    def previous(self, at: Instant) -> Instant | None:
        """The latest tick at or before ``at``."""

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many ticks lie after ``after`` and up to ``until``, exact up to ``cap``."""


class ListedTicks:
    """A few instants, written out."""

    __slots__ = ("instants",)

    def __init__(self, instants: tuple[Instant, ...]) -> None:
        self.instants = sorted(set(instants))

    def next(self, after: Instant) -> Instant | None:
        """The earliest of them strictly later than ``after``."""
        place = bisect_right(self.instants, after)
        return self.instants[place] if place < len(self.instants) else None

    def previous(self, at: Instant) -> Instant | None:
        """The latest of them at or before ``at``."""
        place = bisect_right(self.instants, at)
        return self.instants[place - 1] if place else None

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many of them lie after ``after`` and up to ``until``, exact up to ``cap``."""
        total = bisect_right(self.instants, until) - bisect_right(self.instants, after)
        return max(0, min(total, cap))


class UnionTicks:
    """The ticks of several rules; one that two of them share comes once."""

    __slots__ = ("_parts",)

    def __init__(self, parts: tuple[Ticks, ...]) -> None:
        self._parts = parts

    def next(self, after: Instant) -> Instant | None:
        """The earliest tick of any part strictly later than ``after``."""
        return min((tick for part in self._parts if (tick := part.next(after)) is not None), default=None)

    def previous(self, at: Instant) -> Instant | None:
        """The latest tick of any part at or before ``at``."""
        return max((tick for part in self._parts if (tick := part.previous(at)) is not None), default=None)

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many distinct ticks lie after ``after`` and up to ``until``, exact up to ``cap``.

        Rules share ticks in ways that no product tells. The part that has most is multiplied; the ticks of the others
        are walked, to see which of them it has too.
        """
        counts = [part.count(after, until, cap) for part in self._parts]
        total = max(counts)
        if total >= cap or total == sum(counts):
            return min(total, cap)
        most = self._parts[counts.index(total)]
        rest = [part for part, count in zip(self._parts, counts, strict=True) if count and part is not most]
        others = rest[0] if len(rest) == 1 else UnionTicks(tuple(rest))
        tick = others.next(after)
        while tick is not None and tick <= until and total < cap:
            total += most.next(tick - 1) != tick
            tick = others.next(tick)
        return total

    def walked(self, after: Instant, until: Instant) -> int:
        """About how many ticks an uncapped count walks."""
        counts = [part.count(after, until, _MANY) for part in self._parts]
        return sum(counts) - max(counts)


def merged(parts: Sequence[Ticks]) -> Ticks:
    """The ticks of one or more rules; instants that are written out are one list, however many they are."""
    listed = [part for part in parts if isinstance(part, ListedTicks)]
    others = [part for part in parts if not isinstance(part, ListedTicks)]
    if listed:
        others.append(ListedTicks(tuple(instant for part in listed for instant in part.instants)))
    return others[0] if len(others) == 1 else UnionTicks(tuple(others))


class BoundedTicks:
    """A rule's ticks from ``start`` to ``end``, both included."""

    __slots__ = ("_end", "_start", "_ticks")

    def __init__(self, ticks: Ticks, start: Instant | None, end: Instant | None) -> None:
        self._ticks = ticks
        self._start = start
        self._end = end

    def next(self, after: Instant) -> Instant | None:
        """The earliest tick within the bounds strictly later than ``after``."""
        tick = self._ticks.next(after if self._start is None else max(after, self._start - 1))
        return None if tick is None or (self._end is not None and tick > self._end) else tick

    def previous(self, at: Instant) -> Instant | None:
        """The latest tick within the bounds at or before ``at``."""
        tick = self._ticks.previous(at if self._end is None else min(at, self._end))
        return None if tick is None or (self._start is not None and tick < self._start) else tick

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many ticks within the bounds lie after ``after`` and up to ``until``, exact up to ``cap``."""
        low = after if self._start is None else max(after, self._start - 1)
        high = until if self._end is None else min(until, self._end)
        return self._ticks.count(low, high, cap) if low < high else 0
