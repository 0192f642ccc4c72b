"""Forecast: how many runs each minute to come will ask for, which are crowded, and the spread that flattens them.

It knows rules, calendars, blackouts, spread, jitter and pauses. Whether a run will still be live when the next tick
comes nobody knows, so overlap is not considered: it can only make less of it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from puntual.engine.due import compiled, due
from puntual.model.errors import InvalidError, PuntualError
from puntual.model.instant import DAY, MINUTE
from puntual.model.schedule import Pause, Schedule, ScheduleSpec
from puntual.timing.spread import stable_offset

LONGEST_US: Final = 31 * DAY
#: A rule with more ticks a minute than this is counted by the minute, not walked.
_DENSE: Final = 4
#: What one forecast may cost at most, some seconds: in ticks that are moved. To find a tick costs as much as to
#: move ten, and to count a minute as much as to move thirty.
_MOST: Final = 30_000_000
_FIND: Final = 10
_COUNT: Final = 30
#: To find the next edge of what closes ticks costs as much as to move so many.
_LOOK: Final = 20
#: As many crowded minutes are told of, each with so many of its schedules.
_CROWDED: Final = 10
#: A minute is crowded if it has this many times what a minute has on average, and more than a handful.
_TIMES: Final = 4
_HANDFUL: Final = 10
#: The spreads that are tried, the shortest first.
_SPREADS: Final = tuple(minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 240))
#: A longer spread must be better by so much to be worth the wait.
_WORTH: Final = 0.8
_SHORTER: Final = "Ask for a shorter time: --until 6h, for example."


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


class _One(NamedTuple):
    """A schedule that ticks: from when on its ticks make runs, and by how much all of them move."""

    spec: ScheduleSpec
    since: int
    moved: int


class _Ticks:
    """The open ticks of a rule, by where in their minute they lie: then moving all of them moves whole minutes."""

    def __init__(self, timetable: str, window: Window, reach_us: int) -> None:
        self._rule = compiled(timetable)
        self._window = window
        self._places: dict[int, array[int]] = {}
        #: The shortest time between two of them; a schedule is never moved by more than half of it.
        self.gap = DAY
        after, until = window.since - reach_us - 1, window.until - 1
        most = _DENSE * (until - after) // MINUTE
        closed = self._rule.closed
        #: What it costs to go through all that its closures open and close.
        self.dear = 0 if closed is None else _LOOK * closed.work(after, until, _MOST)
        self.dense, self.count = False, 0
        if self.dear > _MOST:
            return  # Whoever asks what it costs goes no further.
        self.count = self._rule.open_count(after, until, most + 1)
        self.dense = self.count > most
        if not self.dense:
            self._walk(after, until)

    @property
    def cost(self) -> int:
        """What it costs to add them once."""
        return self.dear + (_COUNT * self._window.size if self.dense else self.count)

    def _walk(self, after: int, until: int) -> None:
        last: int | None = None
        tick = self._rule.open_next(after)
        while tick is not None and tick <= until:
            place, within = divmod(tick - self._window.since, MINUTE)
            self._places.setdefault(within, array("q")).append(place)
            if last is not None:
                self.gap = min(self.gap, tick - last)
            last, tick = tick, self._rule.open_next(tick)

    def __iter__(self) -> Iterator[int]:
        for within, places in self._places.items():
            yield from (self._window.since + place * MINUTE + within for place in places)

    def add(self, counts: list[int], moved: int, since: int, times: int) -> None:
        """Adds them to the minutes, each ``moved`` later and that many ``times``; none that is due before ``since``."""
        size = self._window.size
        if self.dense:
            for place in range(size):
                counts[place] += times * self._in_minute(place, moved, since)
            return
        for within, places in self._places.items():
            ahead = (within + moved) // MINUTE
            first = bisect_left(places, -((within + moved + self._window.since - since) // MINUTE))
            for at in range(first, bisect_left(places, size - ahead)):
                counts[places[at] + ahead] += times

    def within(self, place: int, moved: int, since: int) -> int:
        """How many of them are due in one minute, given by its place."""
        if self.dense:
            return self._in_minute(place, moved, since)
        found = 0
        for within, places in self._places.items():
            wanted = place - (within + moved) // MINUTE
            at = bisect_left(places, wanted)
            if at < len(places) and places[at] == wanted:
                found += self._window.since + wanted * MINUTE + within + moved >= since
        return found

    def _in_minute(self, place: int, moved: int, since: int) -> int:
        start = max(self._window.since + place * MINUTE, since)
        end = self._window.since + (place + 1) * MINUTE
        return self._rule.open_count(start - moved - 1, end - moved - 1, MINUTE) if start < end else 0


class _Group(NamedTuple):
    """The schedules of one rule."""

    ticks: _Ticks
    plain: Counter[tuple[int, int]]
    ones: list[_One]


def forecast(schedules: Sequence[Schedule], paused_all: Pause | None, window: Window, now: int) -> Forecast:
    """What the schedules will ask for.

    Args:
        schedules: all of them; those that cannot be planned ask for nothing.
        paused_all: the last pause of everything.
        window: the minutes that are wanted.
        now: nothing that came due before it is in it.

    Raises:
        InvalidError: that would take too long.
    """
    groups = _groups(schedules, paused_all, window, now)
    totals = [0] * window.size
    for group in groups:
        for (moved, since), times in group.plain.items():
            group.ticks.add(totals, moved, since, times)
        for one in group.ones:
            if one.spec.jitter_us:
                for place in _jittered(one, group.ticks, window):
                    totals[place] += 1
    crowded = _crowded(totals)
    crowds = tuple(
        Crowd(window.since + place * MINUTE, totals[place], tuple(_shares(groups, window, place).most_common()))
        for place in crowded
    )
    return Forecast(window, tuple(totals), crowds, _advice(groups, totals, crowded[0]) if crowded else None)


def _groups(schedules: Iterable[Schedule], paused_all: Pause | None, window: Window, now: int) -> list[_Group]:
    """The schedules that have a say in the window, by their rules."""
    found: dict[str, list[_One]] = defaultdict(list)
    for schedule in schedules:
        spec = schedule.spec
        since = _awake(schedule.pause, _awake(paused_all, max(window.since, now), now), now)
        if schedule.cursor.trouble is None and schedule.cursor.next_tick_at is not None and since < window.until:
            moved = stable_offset(spec.name, spec.spread_us) if spec.spread_us else 0
            found[spec.timetable].append(_One(spec, since, moved))
    groups, cost = [], 0
    for timetable, those in found.items():
        reach = max(one.spec.spread_us + one.spec.jitter_us for one in those)
        try:
            ticks = _Ticks(timetable, window, reach)
        except PuntualError:
            continue  # Whoever plans it says so; the others are foreseen all the same.
        # Where there are many ticks a minute, nobody sees which of them jitter moves to the next.
        ones = [_steady(one) for one in those] if ticks.dense else those
        plain = Counter((one.moved, one.since) for one in ones if not one.spec.jitter_us)
        cost += _FIND * min(ticks.count, ticks.cost) + ticks.dear
        cost += ticks.cost * len(plain) + _FIND * ticks.count * (len(ones) - plain.total())
        if cost > _MOST:
            raise InvalidError(
                "So much is to come that foreseeing it would take too long.", hint=_SHORTER, field="until"
            )
        groups.append(_Group(ticks, plain, ones))
    return groups


def _steady(one: _One) -> _One:
    return one._replace(spec=msgspec.structs.replace(one.spec, jitter_us=0))


def _awake(pause: Pause | None, since: int, now: int) -> int:
    """From when on a pause lets ticks make runs: what comes due at its very end it still covers."""
    if pause is None or not pause.active(now):
        return since
    return 1 << 62 if pause.until is None else max(since, pause.until + 1)


def _jittered(one: _One, ticks: _Ticks, window: Window) -> Iterator[int]:
    """The places of the minutes in which the runs of a schedule are due whose ticks all move differently."""
    for tick in ticks:
        at = due(one.spec, tick)
        if one.since <= at < window.until:
            yield (at - window.since) // MINUTE


def _shares(groups: Iterable[_Group], window: Window, place: int) -> Counter[str]:
    """What each schedule has of a minute."""
    shares: Counter[str] = Counter()
    for group in groups:
        known: dict[tuple[int, int], int] = {}
        for one in group.ones:
            if one.spec.jitter_us:
                found = sum(each == place for each in _jittered(one, group.ticks, window))
            else:
                key = (one.moved, one.since)
                if key not in known:
                    known[key] = group.ticks.within(place, *key)
                found = known[key]
            if found:
                shares[one.spec.name] = found
    return shares


def _crowded(totals: Sequence[int]) -> list[int]:
    """The places of the most crowded minutes, if any are."""
    mean = sum(totals) / len(totals)
    places = [place for place, count in enumerate(totals) if count > max(_HANDFUL, _TIMES * mean)]
    return sorted(places, key=lambda place: (-totals[place], place))[:_CROWDED]


def _advice(groups: Iterable[_Group], totals: Sequence[int], worst: int) -> Advice | None:
    """The shortest spread of those in the worst minute that flattens about as much as any would."""
    rest = list(totals)
    movable: list[tuple[_Ticks, list[_One]]] = []
    for ticks, _, ones in groups:
        unmoved = [one for one in ones if not (one.spec.spread_us or one.spec.jitter_us)]
        if not ticks.dense and any(ticks.within(worst, 0, since) for since in {one.since for one in unmoved}):
            movable.append((ticks, unmoved))
            for since, times in Counter(one.since for one in unmoved).items():
                ticks.add(rest, 0, since, -times)
    best, before = None, totals[worst]
    lowest = before
    for spread in _SPREADS:
        counts = list(rest)
        names: list[str] = []
        for ticks, ones in movable:
            moves = ticks.gap >= 2 * spread
            names += [one.spec.name for one in ones] if moves else []
            moved = Counter((stable_offset(one.spec.name, spread) if moves else 0, one.since) for one in ones)
            for (ahead, since), times in moved.items():
                ticks.add(counts, ahead, since, times)
        if max(counts) < _WORTH * lowest:
            best, lowest = Advice(spread, tuple(sorted(names)), before, max(counts)), max(counts)
    return best
