"""Changing schedules survives a decision that has to be made again, and others who change them meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import puntual
from puntual.engine.calendars import calendars_of
from puntual.manifest import read_schedule
from puntual.model.calendar import CalendarSpec
from puntual.model.errors import NotFoundError
from puntual.settings import Settings
from puntual.store.calendars import CalendarWrite
from puntual.store.requests import DecideChange, Selection
from puntual.timing.calendar import Calendar, CalendarDays


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[puntual.App]:
    """An app on a file of its own, whose store makes every decision twice, as it does when it has to begin anew."""
    one = puntual.App(Settings(database_url=f"sqlite:///{tmp_path}/jobs.db"))
    async with one:
        change = one.store.change_schedules

        async def twice(select: Selection, decide: DecideChange, **more: Any) -> object:
            def again(*seen: Any) -> object:
                decide(*seen)
                return decide(*seen)

            return await change(select, again, **more)  # type: ignore[arg-type]  # what decide gives

        one.store.change_schedules = twice  # type: ignore[method-assign,assignment]  # what the test is about
        yield one


async def put(app: puntual.App, *names: str) -> list[str]:
    """Writes schedules and gives the names and revisions answered."""
    items = [read_schedule(name, {"when": "every 1h", "task": "t"}, app.context()) for name in names]
    return [f"{schedule.name} {schedule.revision}" for schedule in await app.schedules.put_many(items)]


async def test_each_schedule_removed_is_named_once(app: puntual.App) -> None:
    """Though it was decided twice."""
    await put(app, "a", "b")
    assert sorted(await app.schedules.remove(Selection(everything=True))) == ["a", "b"]


async def test_removing_what_is_not_there_removes_nothing(app: puntual.App) -> None:
    """All that were named, or none."""
    await put(app, "a")
    with pytest.raises(NotFoundError, match="'b'"):
        await app.schedules.remove(Selection(names=("a", "b")))
    assert [schedule.name for schedule in await app.schedules.find()] == ["a"]


async def test_written_and_untouched_schedules_are_answered_in_the_order_asked(app: puntual.App) -> None:
    """Each as it stands."""
    await put(app, "b")
    assert await put(app, "c", "b", "a") == ["c 1", "b 1", "a 1"]


async def test_a_schedule_that_somebody_removes_meanwhile_is_answered_as_it_stood(app: puntual.App) -> None:
    """The write was done; what came after it is no failure of it."""
    await put(app, "a", "b")
    changed = app.store.change_schedules

    async def and_it_is_removed(select: Selection, decide: DecideChange, **more: Any) -> object:
        written = await changed(select, decide, **more)
        app.store.change_schedules = changed  # type: ignore[method-assign]  # back as it was
        await app.schedules.remove(Selection(everything=True))
        return written

    app.store.change_schedules = and_it_is_removed  # type: ignore[method-assign,assignment]  # as above
    assert await put(app, "a", "b", "c") == ["a 1", "b 1", "c 1"]
    assert await app.schedules.find() == []


async def test_a_calendar_that_changes_meanwhile_is_read_again(app: puntual.App) -> None:
    """A schedule is never written by days that a calendar does not have any more."""

    async def write(version: int) -> CalendarDays:
        days = CalendarDays(name="co", version=version, dates=(version,))
        made = Calendar(spec=CalendarSpec(country="CO"), days=days, updated_at=1, refreshed_at=1)
        await app.store.change_schedules(
            Selection(names=()), lambda *_: [], calendars=[CalendarWrite(name="co", calendar=made)]
        )
        return days

    await write(1)
    listed = app.store.list_calendars

    async def then_changed(names: Sequence[str] | None = None) -> list[Calendar]:
        found = await listed(names)
        app.store.list_calendars = listed  # type: ignore[method-assign]  # once
        await write(2)
        return found

    app.store.list_calendars = then_changed  # type: ignore[method-assign]  # what the test is about
    made = await app.schedules.put("nightly", when="0 2 * * *", task="t", calendars={"exclude": ["co"]})
    assert [days.version for days in calendars_of(made.spec)] == [2]
