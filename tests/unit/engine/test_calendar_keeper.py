"""The upkeep of calendars: found out anew in time, kept when that fails, and followed by schedules that name them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest

from puntual.engine import edit
from puntual.engine.calendars import calendars_of
from puntual.engine.edit import Moment
from puntual.engine.upkeep.calendars import CalendarKeeper, is_due
from puntual.model.calendar import CalendarSpec
from puntual.model.errors import CalendarError
from puntual.model.instant import DAY, HOUR, SECOND, Instant, parse_instant
from puntual.model.schedule import Pause, Schedule, ScheduleSpec, Target
from puntual.store.calendars import CalendarNote, CalendarUse, CalendarWrite
from puntual.store.contract import Store
from puntual.store.requests import Selection
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import named, put, writing
from puntual.timing.calendar import Calendar, CalendarDays
from puntual.timing.rule import Closures, CronRule, Timetable
from puntual.wake.local import LocalWake

START = parse_instant("2026-12-01T00:00:00Z")
TODAY = START // DAY
FEED = CalendarSpec(ical="https://example.com/fair.ics")


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> int:
        """The wall clock."""
        return self.at

    def steady(self) -> float:
        """Seconds."""
        return self.at / SECOND


class Meaning:
    """Finds out what a test says, and counts how often it was asked."""

    def __init__(self) -> None:
        self.dates: dict[str, tuple[int, ...]] = {}
        self.trouble: Exception | None = None
        self.asked: list[str] = []
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, name: str, spec: CalendarSpec, now: Instant) -> CalendarDays:
        """The days of the test."""
        self.asked.append(name)
        self.begun.set()
        await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        return CalendarDays(name=name, version=0, dates=self.dates[name])


class World:
    """A store, its clock, and the keeper of its calendars."""

    def __init__(self, store: Store, clock: HandClock) -> None:
        self.store = store
        self.clock = clock
        self.meaning = Meaning()
        self.keeper = CalendarKeeper(store, LocalWake(), self.meaning, clock=clock)

    async def round(self, *, after: int = 0) -> None:
        """Time goes by, then one round and all that it began."""
        self.clock.at += after
        await self.keeper.round()
        await self.keeper.done()

    async def calendar(self, name: str = "fair") -> Calendar:
        """As it stands."""
        (found,) = await self.store.list_calendars([name])
        return found

    async def write(self, name: str = "fair", *dates: int, spec: CalendarSpec = FEED, **changes: object) -> None:
        """Writes a calendar as somebody would."""
        days = CalendarDays(name=name, version=1, dates=dates)
        made = Calendar(spec=spec, days=days, updated_at=self.clock.at, refreshed_at=self.clock.at)
        made = msgspec.structs.replace(made, **changes)
        write = CalendarWrite(name=name, calendar=made)
        await self.store.change_schedules(Selection(names=()), writing(), calendars=[write])
        self.meaning.dates.setdefault(name, dates)

    async def schedule(self, name: str = "nightly", calendar: str = "fair", **changes: object) -> Schedule:
        """Writes a schedule of every night at two that keeps from a calendar, as it is now."""
        closures = Closures(exclude=(calendar,), calendars=((await self.calendar(calendar)).days,))
        rule = CronRule(expr="0 2 * * *", dialect="unix")
        text = msgspec.json.encode(Timetable(rule=rule, closures=closures)).decode()
        spec = ScheduleSpec(name=name, timetable=text, source={"when": "0 2 * * *"}, target=Target("t"))
        made = edit.create(spec, name, Moment(now=self.clock.at)).schedule
        assert made is not None
        await put(self.store, msgspec.structs.replace(made, **changes), now=self.clock.at)
        return made

    async def embedded(self, name: str = "nightly") -> CalendarDays:
        """What a schedule knows of its calendar."""
        (days,) = calendars_of((await named(self.store, name)).spec)
        return days


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """On a database in memory."""
    clock = HandClock()
    store = SqliteStore(":memory:", clock=clock)
    await store.open()
    made = World(store, clock)
    yield made
    await made.keeper.close()
    await store.close()


async def test_a_feed_is_asked_anew_after_a_day(world: World) -> None:
    """Not sooner, and not again at once."""
    await world.write("fair", TODAY)
    await world.round()
    await world.round(after=DAY - 1)
    assert world.meaning.asked == []
    await world.round(after=HOUR)
    assert world.meaning.asked == ["fair"]
    assert (await world.calendar()).refreshed_at == world.clock.at
    await world.round(after=HOUR)
    assert world.meaning.asked == ["fair"]


async def test_days_that_changed_are_a_new_version_that_schedules_follow(world: World) -> None:
    """In one transaction; a schedule that names another calendar is not touched."""
    await world.write("fair", TODAY)
    await world.write("other", TODAY)
    await world.schedule()
    other = await world.schedule("other", "other")
    world.meaning.dates["fair"] = (TODAY + 2, TODAY + 3)
    await world.round(after=DAY)
    found = await world.calendar()
    assert (found.version, found.days.dates, found.updated_at) == (2, (TODAY + 2, TODAY + 3), world.clock.at)
    assert await world.embedded() == found.days
    assert (await named(world.store, "nightly")).revision == 2
    assert (await named(world.store, "other")).revision == other.revision


async def test_days_that_are_the_same_change_nothing(world: World) -> None:
    """A look is no edit."""
    await world.write("fair", TODAY, trouble="It was away.")
    await world.schedule()
    await world.round(after=DAY)
    found = await world.calendar()
    assert (found.version, found.refreshed_at, found.trouble) == (1, world.clock.at, None)
    assert (await named(world.store, "nightly")).revision == 1


async def test_an_error_keeps_the_days_and_says_why(world: World) -> None:
    """It is tried again after a while, and forgotten when that works."""
    await world.write("fair", TODAY)
    await world.schedule()
    began = world.clock.at
    world.meaning.trouble = CalendarError("The iCalendar of example.com was not fetched: it answered 503.")
    await world.round(after=DAY)
    found = await world.calendar()
    assert (found.version, found.days.dates, found.refreshed_at) == (1, (TODAY,), began)
    assert found.trouble == "The iCalendar of example.com was not fetched: it answered 503."
    assert await world.embedded() == found.days
    await world.round(after=5 * 60 * SECOND)
    assert len(world.meaning.asked) == 1
    world.meaning.trouble = None
    await world.round(after=HOUR)
    assert (await world.calendar()).trouble is None
    assert (await world.calendar()).refreshed_at == world.clock.at


async def test_an_error_of_any_kind_holds_up_no_other_calendar(world: World) -> None:
    """A fault of ours is trouble of one calendar too."""
    await world.write("bad", TODAY)
    await world.write("fair", TODAY)
    del world.meaning.dates["bad"]
    world.meaning.dates["fair"] = ()
    await world.round(after=DAY)
    assert (await world.calendar("bad")).trouble == "'bad'"
    assert (await world.calendar("fair")).version == 2


async def test_holidays_are_found_out_before_they_run_out(world: World) -> None:
    """When fewer than five years are known; own dates never."""
    country = Calendar(
        spec=CalendarSpec(country="CO"),
        days=CalendarDays(name="co", version=1, until=TODAY + 4 * 366),
        updated_at=START,
        refreshed_at=START - 2 * DAY,
    )
    assert is_due(country, START)
    assert not is_due(msgspec.structs.replace(country, refreshed_at=START - HOUR), START)
    far = msgspec.structs.replace(country.days, until=TODAY + 9 * 366)
    assert not is_due(msgspec.structs.replace(country, days=far), START)
    own = msgspec.structs.replace(
        country, spec=CalendarSpec(dates=("2026-12-24",)), days=CalendarDays(name="co", version=1)
    )
    assert not is_due(own, START + 1_000 * DAY)


async def test_a_schedule_with_an_older_version_is_edited(world: World) -> None:
    """However it came by it: whoever wrote it read the calendar before somebody changed that."""
    await world.write("fair", TODAY)
    await world.schedule()
    await world.write("fair", TODAY + 5, days=CalendarDays(name="fair", version=7, dates=(TODAY + 5,)))
    await world.round()
    assert await world.embedded() == (await world.calendar()).days
    assert (await named(world.store, "nightly")).revision == 2
    await world.round(after=HOUR)
    assert (await named(world.store, "nightly")).revision == 2


async def test_an_older_version_never_comes_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A calendar that is changed while schedules are looked through has been followed by these already."""
    await world.write("fair", TODAY)
    await world.schedule()
    newer = CalendarDays(name="fair", version=7, dates=(TODAY + 5,))
    uses = world.store.calendar_uses

    async def changed_meanwhile(names: Sequence[str] | None = None) -> list[CalendarUse]:
        monkeypatch.undo()
        await world.write("fair", TODAY + 5, days=newer)
        await world.schedule()
        return await uses(names)

    monkeypatch.setattr(world.store, "calendar_uses", changed_meanwhile)
    await world.round()
    assert await world.embedded() == newer


async def test_a_calendar_that_cannot_be_written_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, and the others have their turn in the same round."""
    note = world.store.note_calendar

    async def refused(given: CalendarNote) -> bool:
        if given.name == "bad":
            raise ConnectionError("refused")
        return await note(given)

    await world.write("bad", TODAY)
    await world.write("fair", TODAY)
    monkeypatch.setattr(world.store, "note_calendar", refused)
    await world.round(after=DAY)
    assert (await world.calendar("fair")).refreshed_at == world.clock.at
    with pytest.raises(ConnectionError):
        await world.keeper.round()


async def test_a_pause_outlives_the_edit(world: World) -> None:
    """Whoever paused it, by hand or in a manifest."""
    await world.write("fair", TODAY)
    await world.schedule("hand", pause=Pause(since=START))
    await world.schedule("manifest", pause=Pause(since=START, by_hand=False))
    world.meaning.dates["fair"] = ()
    await world.round(after=DAY)
    for name in ("hand", "manifest"):
        found = await named(world.store, name)
        assert (found.revision, found.pause is not None, found.cursor.look_at) == (2, True, None)


async def test_a_round_waits_for_no_server(world: World) -> None:
    """What is slow goes on beside the upkeep, once, and ends with it."""
    await world.write("fair", TODAY)
    world.meaning.gate.clear()
    world.clock.at += DAY
    for _ in range(3):
        await world.keeper.round()
        await world.meaning.begun.wait()
        world.clock.at += HOUR
    assert world.meaning.asked == ["fair"]
    await world.keeper.close()
    world.meaning.gate.set()
    await world.round(after=HOUR)
    assert world.meaning.asked == ["fair", "fair"]


async def test_somebody_who_wrote_meanwhile_is_right(world: World) -> None:
    """What was found out for an older version is thrown away."""
    await world.write("fair", TODAY)
    world.meaning.dates["fair"] = (TODAY + 9,)
    world.meaning.gate.clear()
    world.clock.at += DAY
    await world.keeper.round()
    await world.meaning.begun.wait()
    newer = CalendarDays(name="fair", version=2, dates=(TODAY + 1,))
    await world.write("fair", TODAY + 1, days=newer)
    world.meaning.gate.set()
    await world.keeper.done()
    assert (await world.calendar()).days == newer


async def test_a_failing_database_is_told_in_a_later_round(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As every duty tells: the upkeep's loop turns red, and goes on."""

    async def away(*_: object, **__: object) -> None:
        raise ConnectionError("away")

    await world.write("fair", TODAY)
    monkeypatch.setattr(world.store, "note_calendar", away)
    await world.round(after=DAY)
    with pytest.raises(ConnectionError):
        await world.keeper.round()
    monkeypatch.undo()
    await world.round(after=HOUR)
    assert (await world.calendar()).refreshed_at == world.clock.at
