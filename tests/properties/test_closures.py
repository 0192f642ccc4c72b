"""Calendars and blackouts against a slow reading of what they say, in zones whose clocks change in every way."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from puntual.timing import rule as rules
from puntual.timing.calendar import CalendarDays, Otherwise
from puntual.timing.rule import AnyRule, Blackout, Closures, Compiled, CronRule, OnceRule, Timetable

SECOND: Final = 1_000_000
DAY: Final = 86_400
EPOCH: Final = date(1970, 1, 1)
ZONES: Final = ("UTC", "America/Bogota", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "America/Havana")
#: Zones at whose clock changes midnight comes twice or never.
MIDNIGHTS: Final = ("America/Havana", "Asia/Beirut", "America/Asuncion", "America/Sao_Paulo")
EXPRESSIONS: Final = ("0 9 * * *", "30 2 * * *", "0 0 1,15 * *", "15 23 * * 0,6", "0 0,12,18 * * 1-5", "59 23 L * *")


def instant(moment: datetime) -> int:
    """Microseconds since 1970."""
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * SECOND


class World:
    """A drawn calendar, zone and rule, and a year of it."""

    def __init__(self, seed: int, otherwise: Otherwise, zones: tuple[str, ...] = ZONES) -> None:
        random = Random(seed)
        self.zone = ZoneInfo(random.choice(zones))
        self.since = datetime(random.choice((2011, 2018, 2026)), random.randint(1, 12), 1, tzinfo=UTC)
        self.until = self.since + timedelta(days=200)
        first = (self.since.date() - EPOCH).days - 30
        chosen = sorted({first + random.randint(0, 260) for _ in range(random.randint(1, 60))})
        self.off = CalendarDays(
            name="off", version=1, dates=tuple(chosen), weekdays=tuple(random.sample(range(7), random.randint(0, 2)))
        )
        on = sorted(first + random.randint(0, 260) for _ in range(200))
        self.on = CalendarDays(name="on", version=1, dates=tuple(sorted(set(on))))
        self.include = random.random() < 0.3 and otherwise == "skip"
        self.otherwise = otherwise
        self.rule = CronRule(expr=random.choice(EXPRESSIONS), dialect="unix")
        self.base = rules.compile(Timetable(rule=self.rule, timezone=self.zone.key))
        self.closures = Closures(
            include=("on",) if self.include else (),
            exclude=("off",),
            calendars=(self.off, self.on),
            otherwise=otherwise,
        )

    def compiled(self) -> Compiled:
        """The rule with the calendar."""
        return rules.compile(Timetable(rule=self.rule, timezone=self.zone.key, closures=self.closures))

    def open(self, day: date) -> bool:
        """Whether the calendar leaves a day open, read plainly."""
        number, weekday = (day - EPOCH).days, day.isoweekday() % 7
        if number in self.off.dates or weekday in self.off.weekdays:
            return False
        if self.otherwise != "skip" and weekday in (0, 6):
            return False
        return not self.include or number in self.on.dates

    def local(self, tick: int) -> datetime:
        """A tick by the zone's clock."""
        return datetime.fromtimestamp(tick // SECOND, UTC).astimezone(self.zone)

    def ticks(self) -> list[int]:
        """All ticks of the rule in the world's year, closed ones too."""
        return self.base.between(instant(self.since), instant(self.until), 10_000)


@pytest.mark.parametrize("seed", range(60))
def test_a_closed_day_says_so_and_stretches_have_one_answer(seed: int) -> None:
    """Each tick is open just if its local day is; ``until`` and ``since`` pass over no change."""
    world = World(seed, "skip", ZONES if seed % 2 else MIDNIGHTS)
    compiled = world.compiled()
    assert compiled.closed is not None
    opened = []
    for tick in world.ticks():
        expected = None if world.open(world.local(tick).date()) else "calendar"
        assert compiled.closed.reason(tick) == expected
        if expected is None:
            opened.append(tick)
        edge, since = compiled.closed.until(tick), compiled.closed.since(tick)
        assert since <= tick
        assert edge is None or edge > tick
        for probe in (since, (since + tick) // 2, tick if edge is None else (tick + edge) // 2, (edge or tick + 1) - 1):
            assert compiled.closed.reason(probe) == expected
    at, found = instant(world.since), []
    while (following := compiled.open_next(at)) is not None and following <= instant(world.until):
        found.append(following)
        at = following
    assert found == opened
    assert all(compiled.open_previous(later - 1) == earlier for earlier, later in pairwise(found))


@pytest.mark.parametrize("otherwise", ["next", "previous"])
@pytest.mark.parametrize("seed", range(60))
def test_ticks_move_to_business_days_at_their_time(seed: int, otherwise: Otherwise) -> None:
    """Every tick stays or moves to the nearest open day, those that meet are one, and counts agree with walking."""
    world = World(seed, otherwise, ("UTC", "America/Bogota"))
    step = timedelta(days=1 if otherwise == "next" else -1)
    expected = set()
    wide = world.base.between(
        instant(world.since - timedelta(days=60)), instant(world.until + timedelta(days=60)), 10_000
    )
    for tick in wide:
        moved = world.local(tick)
        while not world.open(moved.date()):
            moved += step
        expected.add(instant(moved.astimezone(UTC)))
    low, high = instant(world.since), instant(world.until)
    wanted = sorted(tick for tick in expected if low < tick <= high)
    compiled = world.compiled()
    assert compiled.between(low, high, 10_000) == wanted
    assert compiled.count(low, high, 10_000) == len(wanted)
    random = Random(seed)
    for _ in range(20):
        after, until = sorted((random.randint(low, high), random.randint(low, high)))
        assert compiled.count(after, until, 10_000) == sum(after < tick <= until for tick in wanted)
        behind = [tick for tick in wanted if tick <= until]
        assert not behind or compiled.previous(until) == behind[-1]


@pytest.mark.parametrize("seed", range(40))
def test_blackouts_close_what_lies_within_them(seed: int) -> None:
    """A tick within any of several blackouts, which may overlap, is closed; its end is not."""
    random = Random(seed)
    starts = [random.randint(0, 40 * DAY) for _ in range(12)]
    blackouts = tuple(
        Blackout(
            rule=AnyRule(rules=tuple(OnceRule(instant=start * SECOND) for start in starts[part::3])),
            for_us=random.choice((1, 60, 3_600, 5 * DAY)) * SECOND,
        )
        for part in range(3)
    )
    rule = CronRule(expr="*/7 * * * *", dialect="unix")
    compiled = rules.compile(Timetable(rule=rule, closures=Closures(blackouts=blackouts)))
    assert compiled.closed is not None
    windows = [
        (part.instant, part.instant + each.for_us)
        for each in blackouts
        if isinstance(each.rule, AnyRule)
        for part in each.rule.rules
        if isinstance(part, OnceRule) and part.instant is not None
    ]
    for tick in (0, *starts, *(start + 60 for start in starts), *range(0, 45 * DAY, 5_039)):
        within = any(low <= tick * SECOND < high for low, high in windows)
        assert compiled.closed.reason(tick * SECOND) == ("blackout" if within else None)
        edge = compiled.closed.until(tick * SECOND)
        for change in (each for window in windows for each in window):
            if tick * SECOND < change and (edge is None or change < edge):
                assert (compiled.closed.reason(change) == "blackout") == within


def test_a_day_closed_minute_by_minute_is_looked_over() -> None:
    """Blackouts that follow each other hide no open tick behind them, in either direction."""
    minutes = Blackout(rule=CronRule(expr="* * 31 * *", dialect="unix"), for_us=60 * SECOND)
    rule = CronRule(expr="* * * * *", dialect="unix")
    compiled = rules.compile(Timetable(rule=rule, closures=Closures(blackouts=(minutes,))))
    first, last = (instant(datetime(2026, 1, 31, *time, tzinfo=UTC)) for time in ((0, 0), (23, 59)))
    assert compiled.open_next(first - 1) == last + 60 * SECOND
    assert compiled.open_previous(last) == first - 60 * SECOND


def test_a_rule_whose_days_are_all_closed_ends_its_look() -> None:
    """A calendar of all weekdays leaves nothing open, and the look for it is bounded."""
    week = CalendarDays(name="week", version=1, weekdays=(0, 1, 2, 3, 4, 5, 6))
    for otherwise in ("skip", "next", "previous"):
        closures = Closures(exclude=("week",), calendars=(week,), otherwise=otherwise)
        compiled = rules.compile(Timetable(rule=CronRule(expr="0 9 * * *", dialect="unix"), closures=closures))
        assert compiled.open_next(0) is None
        assert compiled.open_previous(10**15) is None
