"""A rule of a kind that only a newer version knows hides nothing of the others, and can be replaced or removed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest

from puntual.model.schedule import Pause
from puntual.operations.local import LocalOperations
from puntual.store.requests import PlanView, ScheduleWrite, Selection
from puntual.testing import ManualApp


@pytest.fixture
async def operations() -> AsyncIterator[LocalOperations]:
    """Two schedules; a newer version has written the rule of one."""
    manual = ManualApp(start="2026-03-02T12:00:00Z")
    async with manual:
        operations = LocalOperations(manual.app)
        for name in ("newer", "plain"):
            await operations.put_schedule(name, {"when": "0 * * * *", "timezone": "UTC", "task": "a.b"})

        def rewrite(views: Sequence[PlanView], _paused: Pause | None, _now: int) -> list[ScheduleWrite]:
            (view,) = views
            spec = msgspec.structs.replace(view.schedule.spec, timetable='{"rule":{"type":"moon","phase":"full"}}')
            return [ScheduleWrite(name="newer", schedule=msgspec.structs.replace(view.schedule, spec=spec))]

        await manual.app.store.change_schedules(Selection(names=("newer",)), rewrite)
        yield operations


async def test_lists_show_it_as_far_as_they_can(operations: LocalOperations) -> None:
    """With the reason in place of its sentence."""
    shown = {each["name"]: each for each in (await operations.list_schedules({}))["items"]}
    assert "cannot read the rule" in shown["newer"]["sentence"]["en"]
    assert shown["newer"]["next_due_at"] is None
    assert shown["plain"]["next_due_at"] == "2026-03-02T13:00:00Z"


async def test_nothing_else_breaks_on_it(operations: LocalOperations) -> None:
    """Status, forecast, export and a look at it go on."""
    assert (await operations.status("today"))["coming"][0]["schedule"] == "plain"
    assert (await operations.forecast())["ticks"] > 0
    assert "newer:" in (await operations.export())["manifest"]
    assert (await operations.get_schedule("newer"))["name"] == "newer"


async def test_it_can_be_written_anew_and_removed(operations: LocalOperations) -> None:
    """Whoever knows better than the newer version may say so."""
    await operations.put_schedule("newer", {"when": "0 * * * *", "timezone": "UTC", "task": "a.b"})
    assert (await operations.get_schedule("newer"))["next_due_at"] == "2026-03-02T13:00:00Z"
    assert (await operations.remove_schedule("newer"))["removed"] == "newer"
