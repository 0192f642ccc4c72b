"""When the ticks of a rule make no run: days that calendars close, and blackouts; pure, and bounded.

Nothing here walks ticks. An answer holds from ``since`` and up to ``until`` at least, so whoever has many ticks to
judge judges stretches of them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Literal, NamedTuple

from puntual.model.instant import SECOND, Instant
from puntual.timing.calendar import CalendarDays
from puntual.timing.merge import Ticks
from puntual.timing.zone import Zone

Reason = Literal["calendar", "blackout"]

_DAY: Final = 86_400
#: Saturday and Sunday, with 0 for Sunday.
_WEEKEND: Final = frozenset({0, 6})
#: How far one look goes for the day on which the answer changes; it may say that nothing changed, and is asked again.
_LOOK: Final = 64
#: Ten years without an open day are for ever.
FURTHEST: Final = 3_660


def weekday_of(day: int) -> int:
    """The weekday of a day since 1970, 0 for Sunday; day 0 was a Thursday."""
    return (day + 4) % 7


class OpenDays:
    """Which days are open.

    Args:
        include: the calendars that a day must be in one of; none means every day.
        exclude: the calendars that it must not be in.
        business: whether weekend days are closed too.
    """

    __slots__ = ("_dates", "_excluded", "_included", "_off", "_on")

    def __init__(
        self, include: tuple[CalendarDays, ...], exclude: tuple[CalendarDays, ...], *, business: bool = False
    ) -> None:
        self._included = frozenset(day for each in include for day in each.dates) if include else None
        self._on = frozenset(day for each in include for day in each.weekdays)
        self._excluded = frozenset(day for each in exclude for day in each.dates)
        self._off = frozenset(day for each in exclude for day in each.weekdays) | (
            _WEEKEND if business else frozenset()
        )
        self._dates = sorted((self._included or frozenset()) | self._excluded)

    def open(self, day: int) -> bool:
        """Whether a day since 1970 is open."""
        weekday = weekday_of(day)
        if day in self._excluded or weekday in self._off:
            return False
        return self._included is None or day in self._included or weekday in self._on

    def same_until(self, day: int) -> int | None:
        """A later day up to which (not included) all are as ``day`` is; None where nothing changes ever again."""
        is_open = self.open(day)
        for ahead in range(1, _LOOK):
            if self.open(day + ahead) != is_open:
                return day + ahead
        place = bisect_right(self._dates, day + _LOOK - 1)
        if self._on or self._off:
            return day + _LOOK
        return self._dates[place] if place < len(self._dates) else None

    def same_since(self, day: int) -> int:
        """An earlier day, or the same, from which on all up to ``day`` are as it is."""
        is_open = self.open(day)
        for back in range(1, _LOOK):
            if self.open(day - back) != is_open:
                return day - back + 1
        return day - _LOOK + 1

    def on_or_after(self, day: int) -> int | None:
        """The first open day from ``day`` on, within ten years."""
        return next((each for each in range(day, day + FURTHEST) if self.open(each)), None)

    def on_or_before(self, day: int) -> int | None:
        """The last open day up to ``day``, within ten years."""
        return next((each for each in range(day, day - FURTHEST, -1) if self.open(each)), None)


class Window(NamedTuple):
    """A blackout: it begins at each of ``ticks`` and lasts ``for_us``."""

    ticks: Ticks
    for_us: int


class ClosedTimes:
    """Why a tick makes no run, if anything closes it."""

    __slots__ = ("_days", "_windows", "_zone")

    def __init__(self, days: OpenDays | None, windows: tuple[Window, ...], zone: Zone) -> None:
        self._days = days
        self._windows = windows
        self._zone = zone

    def reason(self, tick: Instant) -> Reason | None:
        """What closes a tick: a calendar before a blackout; None where nothing does."""
        if self._days is not None and not self._days.open(self._day(tick)):
            return "calendar"
        if any(self._begun(window, tick) is not None for window in self._windows):
            return "blackout"
        return None

    def until(self, instant: Instant) -> Instant | None:
        """The first later instant at which the answer may be another one; None where it never is."""
        edges = [edge for window in self._windows if (edge := self._edge(window, instant)) is not None]
        if self._days is not None:
            change = self._days.same_until(self._day(instant))
            if change is not None:
                edges.append(self._midnight(change))
                edges += self._clock_change(instant, edges[-1])
        return min((edge for edge in edges if edge > instant), default=None)

    def since(self, instant: Instant) -> Instant:
        """An instant, at most this one, from which on the answer has been the same."""
        edges = [self._low_edge(window, instant) for window in self._windows]
        if self._days is not None:
            day = self._day(instant)
            edges.append(self._midnight(self._days.same_since(day)))
            second = instant // SECOND
            starts = self._zone.stretches(second).starts
            place = bisect_right(starts, second) - 1
            if place:
                edges.append(starts[place] * SECOND)
        return max((edge for edge in edges if edge is not None and edge <= instant), default=instant)

    def work(self, after: Instant, until: Instant, cap: int) -> int:
        """About how many looks it takes to go through a span, edge by edge: each asks every blackout."""
        days = (until - after) // (_DAY * SECOND) if self._days is not None else 0
        begins = sum(window.ticks.count(after, until, cap) for window in self._windows)
        return min(cap, (days + 2 * begins) * (1 + len(self._windows)))

    def _begun(self, window: Window, tick: Instant) -> Instant | None:
        """When the window that holds this tick began."""
        begun = window.ticks.previous(tick)
        return begun if begun is not None and tick < begun + window.for_us else None

    def _edge(self, window: Window, instant: Instant) -> Instant | None:
        begun = self._begun(window, instant)
        return window.ticks.next(instant) if begun is None else begun + window.for_us

    def _low_edge(self, window: Window, instant: Instant) -> Instant | None:
        begun = window.ticks.previous(instant)
        return begun if begun is None or instant < begun + window.for_us else begun + window.for_us

    def _day(self, instant: Instant) -> int:
        return (instant // SECOND + self._zone.offset(instant)) // _DAY

    def _midnight(self, day: int) -> Instant:
        return self._zone.resolve(day * _DAY, "boundary", "first")[0] * SECOND

    def _clock_change(self, instant: Instant, before: Instant) -> list[Instant]:
        """The next clock change, where it comes first: it may turn midnight back."""
        second = instant // SECOND
        starts = self._zone.stretches(before // SECOND).starts
        place = bisect_right(starts, second)
        return [starts[place] * SECOND] if place < len(starts) else []
