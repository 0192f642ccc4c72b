"""One row that cannot be read, from a newer version or a hand in the file, stops nobody else."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import msgspec
import pytest

from puntual.model.errors import StoreDataError
from puntual.model.policy import RunPolicy
from puntual.model.run import RunState
from puntual.model.schedule import Overlap, Pause, Schedule
from puntual.store.calendars import CalendarUse
from puntual.store.requests import Page, PlanView, RunFilter, ScheduleWrite, Selection
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import (
    LEASE,
    MINUTE,
    NOW,
    add,
    deciding,
    fetch,
    join,
    kill,
    lose,
    named,
    new_run,
    put,
    schedule,
    start,
    take,
    uid,
    writing,
)
from puntual.testing.conformance.calendars import calendar, naming, write

NEWER = """UPDATE runs SET policy = '{"on_lost_lease":"newer"}' WHERE id = ?"""
OVERDUE = NOW + 2 * LEASE


def _by_hand(path: str, statement: str, *parameters: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, parameters)


class TestRuns:
    """A run of which nobody here can say how it is to be run."""

    async def test_it_is_dead_and_those_behind_it_are_claimed(self, store: SqliteStore, path: str) -> None:
        """It says why, and blocks its lane no more."""
        await join(store)
        await add(store, *(new_run(number) for number in range(3)))
        _by_hand(path, NEWER, uid(1))
        assert [run.id for run in await take(store, limit=2)] == [uid(0)]
        dead = await fetch(store, uid(1))
        assert (dead.state, dead.reason, dead.finished_at) == (RunState.DEAD, "error", NOW)
        assert dead.attempts[-1].error is not None
        assert "newer" in dead.attempts[-1].error.message
        assert [run.id for run in await take(store)] == [uid(2)]

    async def test_its_unique_key_is_free(self, store: SqliteStore, path: str) -> None:
        """What is dead holds nothing."""
        await join(store)
        await add(store, new_run(1, unique_key="k"))
        _by_hand(path, NEWER, uid(1))
        await take(store)
        assert await add(store, new_run(2, unique_key="k")) == [uid(2)]

    async def test_it_is_shown_without_what_cannot_be_read(self, store: SqliteStore, path: str) -> None:
        """Lists and looks at it alone show the rest of it, and everything else whole."""
        await add(store, new_run(1, tags=("a",)), new_run(2))
        _by_hand(path, NEWER, uid(1))
        two, one = (await store.list_runs(RunFilter(), Page())).items
        assert (one.id, one.tags, one.policy) == (uid(1), ("a",), RunPolicy())
        assert two == await fetch(store, uid(2))
        assert await fetch(store, uid(1)) == one

    @pytest.mark.parametrize("column", ["tags", "policy", "attempts"])
    async def test_history_shows_it_too(self, store: SqliteStore, path: str, column: str) -> None:
        """Whatever part of it is of another shape."""
        await kill(store, new_run(1), new_run(2))
        _by_hand(path, f"UPDATE run_history SET {column} = '17' WHERE id = ?", uid(1))  # noqa: S608 - named above
        assert [run.id for run in (await store.list_runs(RunFilter(), Page())).items] == [uid(2), uid(1)]

    async def test_rescue_ends_it_and_goes_on(self, store: SqliteStore, path: str) -> None:
        """The runs that its worker held beside it are rescued."""
        await start(store, *(new_run(number) for number in range(3)))
        _by_hand(path, NEWER, uid(1))
        rescued = await store.rescue(lose, ends_until=OVERDUE, now=OVERDUE)
        assert (rescued.workers, rescued.runs) == (("w1",), 3)
        states = [(await fetch(store, uid(number))).state for number in range(3)]
        assert states == [RunState.PENDING, RunState.DEAD, RunState.PENDING]

    async def test_what_is_no_json_never_gets_in(self, store: SqliteStore, path: str) -> None:
        """The file itself refuses it, so that no statement can stumble over it."""
        await add(store, new_run(1))
        with pytest.raises(sqlite3.IntegrityError):
            _by_hand(path, "UPDATE runs SET policy = 'oops' WHERE id = ?", uid(1))


class TestSchedules:
    """A schedule with a policy that nobody here knows."""

    async def test_the_others_are_planned(self, store: SqliteStore, path: str) -> None:
        """It is set back a minute, and says why."""
        await _two(store, path)
        seen: list[str] = []
        decide = deciding(lambda one: seen.append(one.name))
        await store.plan(decide, now=NOW)
        assert seen == ["good"]
        bad = await named(store, "bad")
        assert bad.cursor.look_at == NOW + MINUTE
        assert "newer" in (bad.cursor.trouble or "")
        assert (await store.plan(decide, now=NOW + MINUTE - 1)).schedules == 0

    async def test_a_round_of_nothing_else_goes_on(self, store: SqliteStore, path: str) -> None:
        """Where a round is full of them, there may be more behind."""
        await _two(store, path)
        assert (await store.plan(deciding(lambda one: None), limit=1, now=NOW)).full

    async def test_it_is_shown_as_far_as_it_can_be(self, store: SqliteStore, path: str) -> None:
        """In the list beside the others, with its trouble."""
        await _two(store, path)
        bad, good = await store.list_schedules()
        assert (bad.name, bad.spec.overlap, bad.spec.target) == ("bad", Overlap.SKIP, good.spec.target)
        assert "newer" in (bad.cursor.trouble or "")
        assert good.cursor.trouble is None

    async def test_a_change_of_all_passes_it_over(self, store: SqliteStore, path: str) -> None:
        """Nothing of it is rewritten by whoever cannot read it."""
        await _two(store, path)
        shown: list[str] = []

        def decide(views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[ScheduleWrite]:
            shown.extend(view.schedule.name for view in views)
            return []

        await store.change_schedules(Selection(everything=True), decide, now=NOW)
        assert shown == ["good"]

    async def test_by_its_name_it_is_not_written_back_half_read(self, store: SqliteStore, path: str) -> None:
        """A pause would keep the rule: it is refused."""
        await _two(store, path)

        def pause(views: Sequence[PlanView], _pause: Pause | None, now: int) -> list[ScheduleWrite]:
            paused = msgspec.structs.replace(views[0].schedule, pause=Pause(since=now))
            return [ScheduleWrite(name="bad", schedule=paused)]

        with pytest.raises(StoreDataError, match="bad"):
            await store.change_schedules(Selection(names=("bad",)), pause, now=NOW)
        assert (await named(store, "bad")).pause is None

    async def test_by_its_name_it_is_written_anew_or_removed(self, store: SqliteStore, path: str) -> None:
        """Both are ways out, and neither needs what cannot be read."""
        bad = await _two(store, path)
        spec = msgspec.structs.replace(bad.spec, overlap=Overlap.ALLOW_ALL)
        await put(store, msgspec.structs.replace(bad, spec=spec))
        assert (await named(store, "bad")).spec == spec
        _break(path)
        await store.change_schedules(Selection(names=("bad",)), writing(ScheduleWrite(name="bad")), now=NOW)
        assert await store.get_schedule("bad") is None


class TestOthers:
    """Rows that only tell."""

    async def test_a_worker_that_cannot_be_read_is_not_listed(self, store: SqliteStore, path: str) -> None:
        """The others are, and the glance at everything goes on."""
        await join(store, "w1", "w2")
        _by_hand(path, "UPDATE workers SET tasks = '17' WHERE id = ?", "w1")
        assert [found.id for found in await store.list_workers()] == ["w2"]
        assert [found.id for found in (await store.snapshot(now=NOW)).workers] == ["w2"]

    async def test_a_pause_that_cannot_be_read_is_told_as_such(self, store: SqliteStore, path: str) -> None:
        """Whether everything is paused cannot be guessed: the error is one of ours, and a new pause mends it."""
        await store.pause_all(Pause(since=NOW), now=NOW)
        _by_hand(path, "UPDATE pause_of_all SET pause = '17'")
        with pytest.raises(StoreDataError):
            await store.paused_all()
        await store.pause_all(Pause(since=NOW, until=NOW), now=NOW)
        assert await store.paused_all() == Pause(since=NOW, until=NOW)


async def _two(store: SqliteStore, path: str) -> Schedule:
    """A good schedule and a bad one; the latter as it was before."""
    await put(store, schedule("good"), schedule("bad"))
    bad = await named(store, "bad")
    _break(path)
    return bad


def _break(path: str) -> None:
    _by_hand(path, "UPDATE schedules SET spec = json_set(spec, '$.overlap', 'newer') WHERE name = 'bad'")


class TestCalendars:
    """A calendar that cannot be read, and a schedule whose own copy of one is none."""

    async def test_one_that_cannot_be_read_is_written_anew(self, store: SqliteStore, path: str) -> None:
        """It counts as none, so that nobody has to take it away by hand; the others are listed."""
        await write(store, calendar("bad", 3), calendar("good"))
        _by_hand(path, "UPDATE calendars SET days = '{\"days\": 7}' WHERE name = 'bad'")
        assert await store.list_calendars() == [calendar("good")]
        await write(store, calendar("bad", 1), was=0)
        assert await store.list_calendars() == [calendar("bad", 1), calendar("good")]

    @pytest.mark.parametrize(
        "text", ["closures", '{"closures": {"calendars": 7}}', '{"closures": {"calendars": ["x"]}}']
    )
    async def test_a_schedule_that_cannot_be_read_stops_no_change(
        self, store: SqliteStore, path: str, text: str
    ) -> None:
        """The others are told to name what they name."""
        await put(store, naming("good", calendar()), schedule("bad"))
        _by_hand(path, "UPDATE schedules SET spec = json_set(spec, '$.timetable', ?) WHERE name = 'bad'", text)
        assert await store.calendar_uses() == [CalendarUse("good", "co", 1)]
        assert await store.calendar_uses(["co"]) == [CalendarUse("good", "co", 1)]
