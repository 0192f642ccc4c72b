"""The ticks of plain rules, enumerated by the calendar alone: it shares no code with the timing engine.

A rule is drawn as what a schedule stores and, beside it, as the numbers that this means. The ticks of a time are a
sequence that knows its length and its items without being walked, for years of minutes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from itertools import accumulate
from typing import NamedTuple

import msgspec

from puntual.timing.rule import CronRule, IntervalRule, Timetable
from tests.support.timing_oracle import EPOCH, changes, zone

SECOND = 1_000_000
#: The years whose clock changes are known here.
YEARS = (2025, 2034)


class Grid(NamedTuple):
    """Every ``period`` seconds from ``anchor`` on."""

    period: int
    anchor: int

    @property
    def timetable(self) -> str:
        """What a schedule stores."""
        rule = IntervalRule(period_us=self.period * SECOND, anchor=self.anchor)
        return msgspec.json.encode(Timetable(rule=rule)).decode()

    def ticks(self, after: int, until: int) -> Sequence[int]:
        """Those later than ``after`` and up to ``until``."""
        step = self.period * SECOND
        first = self.anchor + ((after - self.anchor) // step + 1) * step
        return range(first, until + 1, step)


class Daily(NamedTuple):
    """At the minutes of the hours given, on the weekdays given (0 is Sunday), by the clocks of a zone."""

    hours: tuple[int, ...]
    minute: int
    weekdays: tuple[int, ...]
    zone: str

    @property
    def timetable(self) -> str:
        """What a schedule stores."""
        fields = (self.hours, ("*",), ("*",), self.weekdays)
        words = " ".join(",".join(map(str, field)) for field in fields)
        rule = CronRule(expr=f"{self.minute} {words}", dialect="unix")
        return msgspec.json.encode(Timetable(rule=rule, timezone=self.zone)).decode()

    def ticks(self, after: int, until: int) -> Sequence[int]:
        """Those later than ``after`` and up to ``until``: a time that is skipped goes to the change, one twice once."""
        day = (EPOCH + timedelta(microseconds=after)).date() - timedelta(days=2)
        last = (EPOCH + timedelta(microseconds=until)).date() + timedelta(days=2)
        found = set[int]()
        while day <= last:
            if day.isoweekday() % 7 in self.weekdays:
                found.update(self._instant(day, hour) for hour in self.hours)
            day += timedelta(days=1)
        return sorted(tick for tick in found if after < tick <= until)

    def _instant(self, day: date, hour: int) -> int:
        wall = datetime.combine(day, time(hour, self.minute))
        moment = wall.replace(tzinfo=zone(self.zone)).astimezone(UTC)
        if moment.astimezone(zone(self.zone)).replace(tzinfo=None) != wall:
            moment = max(change for change in changes(self.zone, *YEARS) if change <= moment)
        return (moment - EPOCH) // timedelta(microseconds=1)


class Expected:
    """Ticks one after the other, from several rules in turn."""

    def __init__(self, parts: Sequence[Sequence[int]]) -> None:
        self._parts = [part for part in parts if part]
        self._ends = list(accumulate(len(part) for part in self._parts))
        self._firsts = [part[0] for part in self._parts]

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, place: int) -> int:
        part = bisect_right(self._ends, place)
        return self._parts[part][place - (self._ends[part - 1] if part else 0)]

    def place(self, tick: int) -> int:
        """Where a tick stands.

        Raises:
            AssertionError: it is none.
        """
        part = bisect_right(self._firsts, tick) - 1
        assert part >= 0, f"{tick} comes before all ticks"
        inside = bisect_left(self._parts[part], tick)
        assert inside < len(self._parts[part]), f"{tick} is no tick"
        assert self._parts[part][inside] == tick, f"{tick} is no tick"
        return inside + (self._ends[part - 1] if part else 0)


def spread_of(name: str, bound: int) -> int:
    """By how much a schedule of this name is moved: 128 bits of its hash, modulo the bound."""
    return int.from_bytes(sha256(name.encode()).digest()[:16], "big") % bound if bound else 0
