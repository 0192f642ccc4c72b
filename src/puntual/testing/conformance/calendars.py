"""What a store promises of calendars: written whole with the schedules that name them, guarded by their version."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from puntual.model.calendar import CalendarSpec
from puntual.model.errors import ChangedError, ConflictError
from puntual.model.schedule import Pause, Schedule
from puntual.store.calendars import CalendarNote, CalendarRead, CalendarUse, CalendarWrite
from puntual.store.contract import Store
from puntual.store.requests import (
    PlanView,
    ScheduleWrite,
    Selection,
)
from puntual.testing.conformance.build import DAY, NOW, failing, named, put, schedule, writing
from puntual.timing.calendar import Calendar, CalendarDays
from puntual.timing.rule import Closures, IntervalRule, Timetable

NOTHING = Selection(names=())


def calendar(name: str = "co", version: int = 1, *dates: int, **changes: object) -> Calendar:
    """A calendar of single days since 1970."""
    made = Calendar(
        spec=CalendarSpec(country="CO"),
        days=CalendarDays(name=name, version=version, dates=dates),
        updated_at=NOW,
        refreshed_at=NOW,
    )
    return msgspec.structs.replace(made, **changes)


def naming(name: str, *calendars: Calendar) -> Schedule:
    """A schedule that is closed on the days of these calendars."""
    days = tuple(each.days for each in calendars)
    closures = Closures(exclude=tuple(each.name for each in calendars), calendars=days)
    timetable = Timetable(rule=IntervalRule(period_us=DAY, anchor=NOW), closures=closures)
    made = schedule(name)
    text = msgspec.json.encode(timetable).decode()
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, timetable=text))


async def write(store: Store, *calendars: Calendar, was: int | None = None, now: int = NOW) -> None:
    """Writes calendars, and no schedule."""
    writes = [CalendarWrite(name=each.name, calendar=each, was=was) for each in calendars]
    await store.change_schedules(NOTHING, writing(), calendars=writes, now=now)


async def remove(store: Store, name: str, *, was: int | None = None) -> None:
    """Removes a calendar."""
    await store.change_schedules(NOTHING, writing(), calendars=[CalendarWrite(name=name, was=was)], now=NOW)


class _Seen:
    """A ``decide`` that keeps the names it was shown and writes nothing."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[ScheduleWrite]:
        self.names = sorted(view.schedule.name for view in views)
        return []


class TestCalendars:
    """Calendars as they are kept."""

    async def test_a_calendar_is_read_as_it_was_written(self, store: Store) -> None:
        """Definition, days, owner and trouble come back, calendars by name."""
        spec = CalendarSpec(dates=("2026-12-24",), weekdays=(0, 6), ical="https://example.com/fair.ics", refresh_us=DAY)
        days = CalendarDays(name="own", version=3, dates=(1, 2, 5), weekdays=(0, 6), until=900)
        own = calendar(spec=spec, days=days, owner="shop.yaml", refreshed_at=NOW - 5, trouble="It is away: 503 é")
        await write(store, own, calendar("co"))
        assert await store.list_calendars() == [calendar("co"), own]
        assert await store.list_calendars(["own", "none"]) == [own]
        assert await store.list_calendars([]) == []

    async def test_a_calendar_is_written_anew_under_its_name(self, store: Store) -> None:
        """The last one written stands."""
        await write(store, calendar("co", 1, 5))
        await write(store, calendar("co", 2, 6))
        assert await store.list_calendars() == [calendar("co", 2, 6)]

    async def test_a_write_expects_the_version_that_it_saw(self, store: Store) -> None:
        """Who comes second changes nothing: not by another version, nor by making what is there or missing."""
        await write(store, calendar("co", 1), was=0)
        await write(store, calendar("co", 2), was=1)
        for late in (0, 1, 3):
            with pytest.raises(ChangedError):
                await write(store, calendar("co", 9), was=late)
        with pytest.raises(ChangedError):
            await remove(store, "co", was=1)
        with pytest.raises(ChangedError):
            await write(store, calendar("new"), was=4)
        assert await store.list_calendars() == [calendar("co", 2)]

    async def test_a_note_changes_no_version(self, store: Store) -> None:
        """When its days were looked at, and what was wrong, are written beside them, for that version alone."""
        await write(store, calendar("co", 2, 6))
        note = CalendarNote(name="co", version=2, refreshed_at=NOW + DAY, trouble="It does not answer.")
        assert await store.note_calendar(note)
        noted = calendar("co", 2, 6, refreshed_at=NOW + DAY, trouble="It does not answer.")
        assert await store.list_calendars() == [noted]
        assert not await store.note_calendar(msgspec.structs.replace(note, version=1, trouble=None))
        assert not await store.note_calendar(msgspec.structs.replace(note, name="none"))
        assert await store.list_calendars() == [noted]


class TestCalendarsAndSchedules:
    """A calendar and the schedules that name it change together."""

    async def test_a_selection_finds_the_schedules_that_name_a_calendar(self, store: Store) -> None:
        """Whoever names one of several calendars is found, beside the names asked for; a word in a text is no use."""
        co, fair = calendar("co"), calendar("fair")
        talk = schedule("talk")
        talk = msgspec.structs.replace(talk, spec=msgspec.structs.replace(talk.spec, description='"closures":[{"co"}]'))
        await put(store, naming("a", co), naming("b", fair, co), naming("c", fair), schedule("plain"), talk)
        seen = _Seen()
        await store.change_schedules(Selection(calendars=("co",)), seen, now=NOW)
        assert seen.names == ["a", "b"]
        await store.change_schedules(Selection(names=("plain", "none"), calendars=("fair",)), seen, now=NOW)
        assert seen.names == ["b", "c", "plain"]
        await store.change_schedules(Selection(calendars=("none",)), seen, now=NOW)
        assert seen.names == []

    async def test_uses_tell_the_version_that_each_schedule_has(self, store: Store) -> None:
        """Of all calendars, or of those asked for."""
        await put(store, naming("a", calendar("co", 1)), naming("b", calendar("fair", 4), calendar("co", 2)))
        await put(store, schedule("plain"))
        co = {CalendarUse("a", "co", 1), CalendarUse("b", "co", 2)}
        assert {*await store.calendar_uses()} == {*co, CalendarUse("b", "fair", 4)}
        assert {*await store.calendar_uses(["co"])} == co
        assert await store.calendar_uses(["none"]) == []

    async def test_both_are_written_or_neither(self, store: Store) -> None:
        """An edit that fails leaves the calendar as it was, and a calendar that is refused leaves the schedule."""
        await write(store, calendar("co", 1))
        await put(store, naming("a", calendar("co", 1)))
        newer = CalendarWrite(name="co", calendar=calendar("co", 2, 9), was=1)
        with pytest.raises(ZeroDivisionError):
            await store.change_schedules(Selection(calendars=("co",)), failing, calendars=[newer], now=NOW)
        assert await store.list_calendars() == [calendar("co", 1)]
        changed = ScheduleWrite(name="a", schedule=naming("a", calendar("co", 2, 9)))
        late = msgspec.structs.replace(newer, was=7)
        with pytest.raises(ChangedError):
            await store.change_schedules(Selection(calendars=("co",)), writing(changed), calendars=[late], now=NOW)
        assert (await named(store, "a")).spec == naming("a", calendar("co", 1)).spec
        await store.change_schedules(Selection(calendars=("co",)), writing(changed), calendars=[newer], now=NOW)
        assert (await named(store, "a")).spec == changed.schedule.spec if changed.schedule else False
        assert await store.list_calendars() == [calendar("co", 2, 9)]

    async def test_a_change_goes_by_the_version_that_it_read(self, store: Store) -> None:
        """Schedules read against a calendar that has changed since, or is gone, are not written; the calendar stays."""
        await write(store, calendar("co", 2))
        made = ScheduleWrite(name="a", schedule=naming("a", calendar("co", 2)))
        for late in (CalendarRead(name="co", was=1), CalendarRead(name="gone", was=1)):
            with pytest.raises(ChangedError):
                await store.change_schedules(Selection(names=("a",)), writing(made), calendars=[late], now=NOW)
        assert await store.list_schedules() == []
        reads = [CalendarRead(name="co", was=2)]
        await store.change_schedules(Selection(names=("a",)), writing(made), calendars=reads, now=NOW)
        assert await store.calendar_uses() == [CalendarUse("a", "co", 2)]
        assert await store.list_calendars() == [calendar("co", 2)]

    async def test_a_calendar_that_is_named_stays(self, store: Store) -> None:
        """Its removal is refused and names who needs it; when they go in the same change, it goes."""
        await write(store, calendar("co"), calendar("fair"))
        await put(store, naming("a", calendar("co")))
        with pytest.raises(ConflictError, match="co is named by a;"):
            await remove(store, "co")
        await remove(store, "fair")
        assert await store.list_calendars() == [calendar("co")]
        gone = ScheduleWrite(name="a")
        await store.change_schedules(
            Selection(names=("a",)), writing(gone), calendars=[CalendarWrite(name="co")], now=NOW
        )
        assert await store.list_calendars() == []
        assert await store.get_schedule("a") is None

    async def test_a_calendar_that_is_not_there_is_removed_without_a_word(self, store: Store) -> None:
        """A repeat of a removal changes nothing."""
        await remove(store, "co")
        await remove(store, "co", was=0)
        assert await store.list_calendars() == []
