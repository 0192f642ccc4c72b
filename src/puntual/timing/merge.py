"""Ticks made of other ticks: a short list of instants, several rules as one, and a rule between two bounds."""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from puntual.model.instant import Instant


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

    __slots__ = ("_instants",)

    def __init__(self, instants: tuple[Instant, ...]) -> None:
        self._instants = sorted(set(instants))

    def next(self, after: Instant) -> Instant | None:
        """The earliest of them strictly later than ``after``."""
        place = bisect_right(self._instants, after)
        return self._instants[place] if place < len(self._instants) else None

    def previous(self, at: Instant) -> Instant | None:
        """The latest of them at or before ``at``."""
        place = bisect_right(self._instants, at)
        return self._instants[place - 1] if place else None

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many of them lie after ``after`` and up to ``until``, exact up to ``cap``."""
        total = bisect_right(self._instants, until) - bisect_right(self._instants, after)
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

        Rules share ticks in ways that no product tells, so this walks, at most ``cap`` ticks; only where each part
        alone has the cap does one look decide.
        """
        if any(part.count(after, until, cap) >= cap for part in self._parts):
            return cap
        total = 0
        tick = self.next(after)
        while tick is not None and tick <= until and total < cap:
            total += 1
            tick = self.next(tick)
        return total


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
