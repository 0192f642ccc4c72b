"""How many ticks fall into each minute to come, also when a spread moves them: the arithmetic of a forecast."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from puntual.model.instant import MINUTE, Instant
from puntual.timing.rule import Compiled

#: More ticks a minute than this are counted minute by minute, not walked.
_DENSE: Final = 2


class Window(msgspec.Struct, frozen=True):
    """Whole minutes from ``since`` up to but not including ``until``."""

    since: Instant
    until: Instant

    @property
    def size(self) -> int:
        """How many minutes."""
        return (self.until - self.since) // MINUTE

    def minute(self, place: int) -> Instant:
        """When the minute at a place begins."""
        return self.since + place * MINUTE

    def counts(self) -> list[int]:
        """A zero for each minute."""
        return [0] * self.size


def open_spans(rule: Compiled, after: Instant, until: Instant) -> Iterator[tuple[Instant, Instant]]:
    """The spans (after, until] in which nothing closes a tick; between them there are only closed ticks, or none."""
    if rule.closed is None:
        yield after, until
        return
    tick = rule.next(after)
    while tick is not None and tick <= until:
        edge = rule.closed.until(tick)
        end = until if edge is None else min(until, edge - 1)
        if rule.closed.reason(tick) is None:
            yield tick - 1, end
        tick = rule.next(end)


def open_ticks(rule: Compiled, after: Instant, until: Instant) -> Iterator[Instant]:
    """The ticks after ``after`` and up to ``until`` that nothing closes."""
    following = rule.next
    for start, end in open_spans(rule, after, until):
        tick = following(start)
        while tick is not None and tick <= end:
            yield tick
            tick = following(tick)


def dense(ticks: int, window: Window) -> bool:
    """Whether so many ticks are counted by the minute rather than walked."""
    return ticks > _DENSE * window.size


def add_counted(counts: list[int], window: Window, rule: Compiled, shift_us: int, *, times: int = 1) -> None:
    """Adds the ticks of a rule, moved by ``shift_us``, to the minutes of a window: one question for each minute.

    Args:
        counts: one number for each minute of the window.
        window: its minutes.
        rule: whose ticks.
        shift_us: how much later than its tick each fires, microseconds.
        times: how many fires each tick is.
    """
    add_between(counts, window, rule, (window.since - shift_us - 1, window.until - shift_us - 1), times=times)


def add_between(
    counts: list[int], window: Window, rule: Compiled, ticks: tuple[Instant, Instant], *, times: int = 1
) -> None:
    """The same for the ticks after the first and up to the second of ``ticks``, which fill the window when moved."""
    shift_us = window.since - 1 - ticks[0]
    for after, until in open_spans(rule, *ticks):
        start = after
        while start < until:
            place = (start + 1 + shift_us - window.since) // MINUTE
            end = min(until, window.minute(place + 1) - shift_us - 1)
            counts[place] += times * rule.count(start, end, MINUTE)
            start = end


class Pattern:
    """The open ticks of a rule, by where in their minute they lie, so that moving all of them moves whole minutes.

    Args:
        rule: whose ticks.
        window: what minutes are counted from.
        reach_us: from how long before the window on ticks are known: what may be moved into it.
    """

    __slots__ = ("_places", "_size", "gap_us")

    def __init__(self, rule: Compiled, window: Window, reach_us: int) -> None:
        self._size = window.size
        self._places: dict[int, array[int]] = {}
        #: The shortest time between two of the ticks, microseconds; None where there are not two.
        self.gap_us: int | None = None
        last: Instant | None = None
        for tick in open_ticks(rule, window.since - reach_us - 1, window.until - 1):
            place, within = divmod(tick - window.since, MINUTE)
            places = self._places.get(within)
            if places is None:
                places = self._places[within] = array("q")
            places.append(place)
            if last is not None and (self.gap_us is None or tick - last < self.gap_us):
                self.gap_us = tick - last
            last = tick

    def add(self, counts: list[int], shifts: Mapping[int, int], *, sign: int = 1) -> None:
        """Adds the ticks to the minutes of the window, moved by each of ``shifts``, so many times each."""
        for within, places in self._places.items():
            moved: Counter[int] = Counter()
            for shift_us, times in shifts.items():
                moved[(within + shift_us) // MINUTE] += sign * times
            for ahead, times in moved.items():
                for place in places:
                    if 0 <= place + ahead < self._size:
                        counts[place + ahead] += times

    def meets(self, minutes: frozenset[int]) -> bool:
        """Whether a tick, not moved, lies in one of these minutes, given by their places."""
        return any(not minutes.isdisjoint(places) for places in self._places.values())
