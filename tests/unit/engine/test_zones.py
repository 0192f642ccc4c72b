"""Next ticks are found anew when the tz database is newer than the one that found them, and never by an older one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import pytest
from structlog.testing import capture_logs

from puntual.engine import edit, walk
from puntual.engine.clock import SystemClock
from puntual.engine.edit import Moment, create, retime
from puntual.engine.plan import plan
from puntual.engine.upkeep import zones
from puntual.engine.upkeep.zones import Zones
from puntual.model.schedule import Cursor, Pause, Schedule
from puntual.store.requests import PlanView, ScheduleWrite, Selection
from puntual.store.sqlite import SqliteStore
from puntual.timing.zone import tz_version
from tests.support.flaky import file_store
from tests.support.plans import SECOND, every

HOUR: Final = 3_600 * SECOND


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A store on a file."""
    store = file_store(tmp_path)
    await store.open()
    yield store
    await store.close()


async def made(store: SqliteStore, name: str, **cursor: object) -> Schedule:
    """A schedule of each day, its cursor changed."""

    def decide(_: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
        spec = msgspec.structs.replace(every(86_400), name=name)
        write = create(spec, f"id-{name}", Moment(now=now, paused_all=paused_all))
        assert write.schedule is not None
        changed = msgspec.structs.replace(write.schedule.cursor, **cursor)
        return [msgspec.structs.replace(write, schedule=msgspec.structs.replace(write.schedule, cursor=changed))]

    (written,) = await store.change_schedules(Selection(names=(name,)), decide)
    return written


def keeper(store: SqliteStore) -> Zones:
    """The duty, with all the time that it wants."""
    return Zones(store, clock=SystemClock(), budget=60)


async def cursor_of(store: SqliteStore, name: str) -> Cursor:
    """Where a schedule stands."""
    found = await store.get_schedule(name)
    assert found is not None
    return found.cursor


async def test_what_has_moved_is_planned_anew_and_told(store: SqliteStore) -> None:
    """The next tick is the one that this tz database gives, and the log names both."""
    right = (await made(store, "probe")).cursor.next_tick_at
    assert right is not None
    wrong = right + HOUR
    await made(store, "job", next_tick_at=wrong, next_due_at=wrong, look_at=wrong, tzdata="2020a")
    duty = keeper(store)
    with capture_logs() as told:
        await duty.round()
    assert (await cursor_of(store, "job")).next_tick_at == right
    assert (await cursor_of(store, "job")).tzdata == tz_version()
    assert [line["schedule"] for line in told if line["event"] == "schedule.moved"] == ["job"]
    assert duty.moved == 1
    assert (await store.zone_stamps()) == {tz_version(): 2}


async def test_what_has_not_moved_is_stamped_and_nothing_else(store: SqliteStore) -> None:
    """Its revision stays, and nothing is told."""
    before = await made(store, "job", tzdata=None)
    with capture_logs() as told:
        await keeper(store).round()
    after = await store.get_schedule("job")
    assert after is not None
    assert after.cursor == msgspec.structs.replace(before.cursor, tzdata=tz_version())
    assert (after.revision, after.updated_at) == (before.revision, before.updated_at)
    assert not told


async def test_what_a_newer_one_found_stays(store: SqliteStore) -> None:
    """A process that knows less leaves it alone."""
    before = await made(store, "job", tzdata="2999a", next_tick_at=5 * 10**15, next_due_at=5 * 10**15)
    with capture_logs() as told:
        await keeper(store).round()
    assert [(line["event"], line["elsewhere"]) for line in told] == [("zones.older", "2999a")]
    assert await cursor_of(store, "job") == before.cursor


async def test_whom_a_newer_one_found_meanwhile_is_left_too(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for names and the change, a process that knows more may have been there."""
    before = await made(store, "job", tzdata="2999a", next_tick_at=5 * 10**15, next_due_at=5 * 10**15)

    async def stale(_version: str, *, after: str = "", limit: int = 500) -> list[str]:
        return ["job"][:limit] if not after else []

    monkeypatch.setattr(store, "stale_schedules", stale)
    await keeper(store).round()
    assert await cursor_of(store, "job") == before.cursor


async def test_more_than_a_chunk_is_done_in_one_round(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next round within the hour asks nothing."""
    monkeypatch.setattr(zones, "_CHUNK", 2)
    for number in range(5):
        await made(store, f"job{number}", tzdata="2020a")
    duty = keeper(store)
    await duty.round()
    assert await store.zone_stamps() == {tz_version(): 5}
    await made(store, "late", tzdata="2020a")
    await duty.round()
    assert (await cursor_of(store, "late")).tzdata == "2020a"


@pytest.mark.parametrize("changes", [{"seen_at": 1}, {"trouble": "unreadable"}, {"next_tick_at": None}])
def test_what_waits_or_cannot_be_planned_is_left(changes: dict[str, object]) -> None:
    """A tick that waits for a live run is decided first, whatever the clocks do."""
    write = create(every(86_400), "id", Moment(now=0))
    assert write.schedule is not None
    cursor = msgspec.structs.replace(write.schedule.cursor, tzdata="2020a", **changes)
    assert retime(PlanView(schedule=msgspec.structs.replace(write.schedule, cursor=cursor)), Moment(now=0)) is None


DAY: Final = 24 * HOUR


@pytest.mark.parametrize("of_all", [False, True])
def test_what_came_due_under_a_pause_is_found_anew_too(of_all: bool) -> None:  # noqa: FBT001 - a parameter
    """A pause may have no end; that its next tick lies in the past by now is no move, and another tick is one."""
    made = create(every(86_400), "id", Moment(now=0)).schedule
    assert made is not None
    asleep = Pause(since=1)
    schedule = msgspec.structs.replace(
        made, pause=None if of_all else asleep, cursor=msgspec.structs.replace(made.cursor, tzdata="2020a")
    )
    moment = Moment(now=3 * DAY + HOUR, paused_all=asleep if of_all else None)
    write = retime(PlanView(schedule=schedule), moment)
    assert write is not None
    assert write.schedule is not None
    assert write.schedule.cursor == msgspec.structs.replace(made.cursor, tzdata=tz_version())
    assert write.plan is None
    wrong = msgspec.structs.replace(schedule.cursor, next_tick_at=DAY + HOUR, next_due_at=DAY + HOUR)
    write = retime(PlanView(schedule=msgspec.structs.replace(schedule, cursor=wrong)), moment)
    assert write is not None
    assert write.schedule is not None
    assert write.schedule.cursor.next_tick_at == 4 * DAY
    assert retime(PlanView(schedule=msgspec.structs.replace(schedule, pause=None)), Moment(now=moment.now)) is None


def test_a_plan_and_an_edit_stamp_what_they_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the version of this process."""
    for module in (edit, walk):
        monkeypatch.setattr(module, "tz_version", lambda: "2042a")
    write = create(every(60), "id", Moment(now=0))
    assert write.schedule is not None
    assert write.schedule.cursor.tzdata == "2042a"
    planned = plan(PlanView(schedule=write.schedule), None, HOUR)
    assert planned.cursor.tzdata == "2042a"
