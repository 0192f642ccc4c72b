"""Forecast: how many runs each minute to come will ask for, which are crowded, and the spread that flattens them.

It knows rules, calendars, blackouts, spread, jitter and pauses. Whether a run will still be live when the next tick
comes nobody knows, so overlap is not considered: it can only make less of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

import msgspec

from puntual.engine.due import compiled, due
from puntual.model.instant import DAY, MINUTE
from puntual.model.schedule import Pause, Schedule, ScheduleSpec
from puntual.timing.spread import stable_offset

LONGEST_US: Final = 31 * DAY
#: A schedule with more ticks a minute than this is counted by the minute, not walked.
_DENSE: Final = 1
#: As many crowded minutes are told of, each with so many of its schedules.
_CROWDED: Final = 10
#: A minute is crowded if it has this many times what a minute has on average, and more than a handful.
_TIMES: Final = 4
_HANDFUL: Final = 10
#: The spreads that are tried, the shortest first.
_SPREADS: Final = tuple(minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 240))
#: A longer spread must be better by so much to be worth the wait.
_WORTH: Final = 0.8


class Window(msgspec.Struct, frozen=True):
    """Whole minutes from ``since`` up to but not including ``until``, microseconds."""

    since: int
    until: int

    @property
    def size(self) -> int:
        """How many minutes."""
        return (self.until - self.since) // MINUTE


class Crowd(msgspec.Struct, frozen=True):
    """A crowded minute: when it begins, how many runs it has of ticks, and of which schedules, the largest first."""

    minute: int
    runs: int
    schedules: tuple[tuple[str, int], ...]


class Advice(msgspec.Struct, frozen=True):
    """What would flatten the most crowded minute: this spread, microseconds, for these schedules."""

    spread_us: int
    schedules: tuple[str, ...]
    before: int
    after: int


class Forecast(msgspec.Struct, frozen=True):
    """The runs of ticks by minute, in order; the crowded minutes, the most crowded first; what would help."""

    window: Window
    minutes: tuple[int, ...]
    crowded: tuple[Crowd, ...]
    advice: Advice | None


class _Group:
    """Schedules that tick alike and move alike: their minutes are found once."""

    def __init__(self, spec: ScheduleSpec, window: Window, since: int, until: int) -> None:
        self.names: list[str] = []
        self.spread_us = spec.spread_us
        self.jitter_us = spec.jitter_us
        #: What places are counted from.
        self.origin = window.since
        self._spec = spec
        self._window = window
        self._rule = compiled(spec.timetable)
        self._since = since
        self._until = until
        self._longest = spec.spread_us + spec.jitter_us
        most = _DENSE * (self._until - self._since + self._longest) // MINUTE
        found = self._rule.open_count(since - self._longest - 1, until - 1, most + 1)
        self.dense = found > most
        self.ticks = () if self.dense else tuple(self._walk())

    @cached_property
    def gap(self) -> int:
        """The shortest time between two of its ticks; a schedule is never moved by more than half of it."""
        return min((later - tick for tick, later in pairwise(self.ticks)), default=DAY)

    def _walk(self) -> Iterator[int]:
        tick = self._rule.open_next(self._since - self._longest - 1)
        while tick is not None and tick < self._until:
            yield tick
            tick = self._rule.open_next(tick)

    def minutes(self, spread_us: int | None = None) -> Counter[int]:
        """How many runs of this schedule are due in each minute of the window, by its place; with another spread."""
        spec = self._spec if spread_us is None else msgspec.structs.replace(self._spec, spread_us=spread_us)
        if self.dense:
            moved = stable_offset(spec.name, spec.spread_us)
            return self._counted(moved)
        found: Counter[int] = Counter()
        for tick in self.ticks:
            at = due(spec, tick)
            if self._since <= at < self._until:
                found[(at - self._window.since) // MINUTE] += 1
        return found

    def _counted(self, moved: int) -> Counter[int]:
        found: Counter[int] = Counter()
        for place in range(self._window.size):
            start = max(self._window.since + place * MINUTE, self._since)
            end = min(self._window.since + (place + 1) * MINUTE, self._until)
            if start < end and (count := self._rule.open_count(start - moved - 1, end - moved - 1, MINUTE)):
                found[place] = count
        return found


def forecast(schedules: Sequence[Schedule], paused_all: Pause | None, window: Window, now: int) -> Forecast:
    """What the schedules will ask for.

    Args:
        schedules: all of them; those that cannot be planned ask for nothing.
        paused_all: the last pause of everything.
        window: the minutes that are wanted.
        now: nothing that came due before it is in it.
    """
    groups = _groups(schedules, paused_all, window, now)
    totals = [0] * window.size
    of: dict[int, Counter[str]] = defaultdict(Counter)
    found = [(group, group.minutes()) for group in groups]
    for group, minutes in found:
        for place, count in minutes.items():
            totals[place] += count * len(group.names)
    crowded = _crowded(totals)
    for group, minutes in found:
        for place in crowded:
            if minutes[place]:
                of[place].update(dict.fromkeys(group.names, minutes[place]))
    crowds = tuple(
        Crowd(window.since + place * MINUTE, totals[place], tuple(of[place].most_common())) for place in crowded
    )
    advice = _advice(found, totals, crowded[0]) if crowded else None
    return Forecast(window, tuple(totals), crowds, advice)


def _groups(schedules: Iterable[Schedule], paused_all: Pause | None, window: Window, now: int) -> list[_Group]:
    groups: dict[object, _Group] = {}
    for schedule in schedules:
        spec = schedule.spec
        since = _awake(schedule.pause, _awake(paused_all, max(window.since, now), now), now)
        if schedule.cursor.trouble is not None or schedule.cursor.next_tick_at is None or since >= window.until:
            continue
        own = spec.name if spec.spread_us or spec.jitter_us else None
        key = (spec.timetable, since, own)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(spec, window, since, window.until)
        group.names.append(spec.name)
    return list(groups.values())


def _awake(pause: Pause | None, since: int, now: int) -> int:
    """From when on a pause lets ticks make runs."""
    if pause is None or not pause.active(now):
        return since
    return 1 << 62 if pause.until is None else max(since, pause.until)


def _crowded(totals: Sequence[int]) -> list[int]:
    """The places of the most crowded minutes, if any are."""
    mean = sum(totals) / len(totals)
    places = [place for place, count in enumerate(totals) if count > max(_HANDFUL, _TIMES * mean)]
    return sorted(places, key=lambda place: (-totals[place], place))[:_CROWDED]


def _advice(found: Sequence[tuple[_Group, Counter[int]]], totals: Sequence[int], worst: int) -> Advice | None:
    """The shortest spread of those in the worst minute that flattens about as much as any would."""
    movable = [
        (group, minutes)
        for group, minutes in found
        if minutes[worst] and not (group.dense or group.spread_us or group.jitter_us)
    ]
    rest = list(totals)
    for group, minutes in movable:
        for place, count in minutes.items():
            rest[place] -= count * len(group.names)
    best, before = None, totals[worst]
    lowest = before
    for spread in _SPREADS:
        moved = [(group, group.gap >= 2 * spread) for group, _ in movable]
        peak = max(map(sum, zip(rest, _spread_out(moved, spread, len(rest)), strict=True)))
        if peak < _WORTH * lowest:
            names = sorted(name for group, moves in moved if moves for name in group.names)
            best, lowest = Advice(spread, tuple(names), before, peak), peak
    return best


def _spread_out(groups: Sequence[tuple[_Group, bool]], spread: int, size: int) -> list[int]:
    """The runs by minute if those that may move had this spread, as `puntual.timing.spread` would move them."""
    counts = [0] * size
    for group, moves in groups:
        shifts: Mapping[int, int] = (
            Counter(stable_offset(name, spread) for name in group.names) if moves else {0: len(group.names)}
        )
        for moved, times in shifts.items():
            for tick in group.ticks:
                place = (tick + moved - group.origin) // MINUTE
                if 0 <= place < size:
                    counts[place] += times
    return counts
