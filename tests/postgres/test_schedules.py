"""Plans and changes beside those of other processes: each schedule is in one pair of hands at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

import asyncpg
import msgspec
import pytest

from puntual.model.errors import ConflictError, StoreDataError
from puntual.model.run import Origin
from puntual.model.schedule import Fate, FateReason, Pause
from puntual.store.contract import Store
from puntual.store.postgres.place import Place
from puntual.store.postgres.planning import Planning
from puntual.store.postgres.session import Session
from puntual.store.postgres.statements import columns, sql
from puntual.store.requests import Page, PlanView, Retention, RunFilter, ScheduleWrite, Selection, TickFilter
from puntual.store.rows.schedules import cursor_values
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    add,
    cursor_at,
    deciding,
    failing,
    hand_out,
    join,
    named,
    new_run,
    plan_to,
    put,
    schedule,
    take,
    tick,
    tick_run,
    uid,
    writing,
)
from tests.support.explained import explain

if TYPE_CHECKING:
    from asyncpg import Record

    Line = asyncpg.Connection[Record]

NIGHTLY = Selection(names=("nightly",))


@pytest.fixture
async def line(url: str) -> AsyncIterator[Line]:
    """A connection of somebody else."""
    made = await asyncpg.connect(url)
    try:
        yield made
    finally:
        await made.close()


async def _somebody_waits(line: Line) -> None:
    """Until a transaction waits for what another one has."""
    waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"
    while not await line.fetchval(waiting):
        pass


class TestManyPlanners:
    """Planners share the work and do not wait for each other."""

    async def test_what_another_holds_is_passed_over_and_looked_at_soon(self, store: Store, line: Line) -> None:
        """If the other dies its schedules are due still; until then nobody asks for them in a busy loop."""
        await put(store, schedule("a"), schedule("b"))
        async with line.transaction():
            await line.execute("SELECT FROM puntual.schedules WHERE name = 'a' FOR UPDATE")
            planned = await store.plan(deciding(lambda seen: plan_to(seen, 1)), now=NOW)
            assert (planned.schedules, planned.full) == (1, False)
            assert planned.next_look_at is not None
            assert NOW < planned.next_look_at < NOW + 100_000
        assert (await store.plan(deciding(lambda seen: plan_to(seen, 1)), now=NOW)).schedules == 1

    async def test_an_idle_round_begins_no_transaction(self, url: str, store: Store) -> None:
        """Planners that have nothing to do cost one statement a round."""
        await put(store, schedule(cursor=cursor_at(0, look_at=NOW + MINUTE)))

        class Reader(Session):
            async def write(self, *_: object, **__: object) -> None:  # type: ignore[override]  # it may not be called
                raise AssertionError

        session = Reader(Place(url=url), Retention())
        await session.open()
        try:
            planned = await Planning(session).plan(failing, 500, now=NOW)
        finally:
            await session.close()
        assert (planned.now, planned.next_look_at, planned.full) == (NOW, NOW + MINUTE, False)

    async def test_what_comes_to_lie_in_the_past_is_found_all_the_same(self, store: Store, line: Line) -> None:
        """A planner remembers below which instant there is nothing; that trails what others write, and is forgotten."""
        now = await store.now()
        await put(store, schedule("a", cursor=cursor_at(0, look_at=now + 60 * MINUTE)), now=now)
        assert (await store.plan(failing)).schedules == 0
        for back in (0, MINUTE // 12):
            await line.execute("UPDATE puntual.schedules SET look_at = $1", now - back)
            with pytest.raises(ZeroDivisionError):
                await store.plan(failing)

    async def test_a_key_that_is_taken_meanwhile_makes_the_tick_a_skipped_one(self, store: Store, line: Line) -> None:
        """Between the look and the insert another transaction enqueues: its run stands, and the tick has its fate."""
        await put(store, schedule())
        await add(store, new_run(1, unique_key="other"))
        decide = deciding(lambda seen: plan_to(seen, 1, runs=(tick_run(seen, 1, unique_key="k"),)))
        async with line.transaction():
            await line.execute("UPDATE puntual.runs SET unique_key = 'k' WHERE id = $1::text::uuid", uid(1))
            planning = asyncio.create_task(store.plan(decide, now=NOW))
            await _somebody_waits(line)
        planned = await planning
        assert (planned.schedules, planned.runs) == (1, 0)
        (row,) = (await store.list_ticks(TickFilter(), Page())).items
        assert (row.number, row.fate, row.reason) == (1, Fate.SKIPPED, FateReason.OVERLAP)

    async def test_a_key_that_an_open_transaction_holds_stops_its_own_schedule_only(
        self, store: Store, line: Line
    ) -> None:
        """The others are planned in the same round, another keyed one too; it is looked at again in a second."""
        await put(store, schedule("a"), schedule("b"), schedule("c"))
        await add(store, new_run(1, unique_key="other"))
        keys = {"a": "k", "b": "free", "c": None}
        decide = deciding(lambda seen: plan_to(seen, 1, runs=(tick_run(seen, 1, unique_key=keys[seen.name]),)))
        async with line.transaction():
            await line.execute("UPDATE puntual.runs SET unique_key = 'k' WHERE id = $1::text::uuid", uid(1))
            planned = await store.plan(decide, now=NOW)
            assert (planned.schedules, planned.runs, planned.next_look_at) == (2, 2, NOW + MINUTE // 60)
            assert "'k'" in str((await named(store, "a")).cursor.trouble)
        assert (await store.plan(decide, now=NOW + MINUTE // 60)).schedules == 1
        assert (await named(store, "a")).cursor.trouble is None

    async def test_one_that_cannot_be_read_is_set_back_and_the_others_go_on(self, store: Store, line: Line) -> None:
        """From a newer version, or a hand in the database: it is shown as far as it can be, and can be written anew."""
        await put(store, schedule("a"), schedule("b"))
        await line.execute(
            """UPDATE puntual.schedules SET spec = replace(spec, '"name"', '"overlap":"x","name"') WHERE name = 'a'"""
        )
        planned = await store.plan(deciding(lambda seen: plan_to(seen, 1)), now=NOW)
        assert (planned.schedules, planned.next_look_at) == (1, NOW + MINUTE)
        assert "cannot be read" in str((await named(store, "a")).cursor.trouble)
        with pytest.raises(StoreDataError, match="stays as it is"):
            await store.change_schedules(Selection(names=("a",)), _as_seen, now=NOW)
        await put(store, schedule("a", spec=msgspec.structs.replace(schedule("a").spec, description="anew")))
        assert (await named(store, "a")).cursor.trouble is None


class TestChanges:
    """What a change has decided still holds when it is written."""

    async def test_a_run_in_a_claimers_hands_is_not_shown_as_withdrawable(self, store: Store, line: Line) -> None:
        """It may be running by the time that its tick were planned again."""
        owner = await hand_out(store, schedule(), 2)
        async with line.transaction():
            await line.execute("SELECT FROM puntual.runs WHERE tick_number = 1 FOR UPDATE")
            assert await _withdrawable(store) == [2]
        assert await _withdrawable(store) == [1, 2]
        assert owner.cursor.last_number == 2

    async def test_what_is_shown_as_withdrawable_cannot_be_claimed_until_the_change_ends(
        self, store: Store, line: Line
    ) -> None:
        """A claimer passes over it."""
        await hand_out(store, schedule(), 1)
        await join(store)
        async with line.transaction():
            await line.fetchval(sql("change_read"), [schedule().id], NOW)
            assert await take(store, ahead_us=2 * MINUTE) == ()
        assert len(await take(store, ahead_us=2 * MINUTE, sweep=True)) == 1

    async def test_of_two_triggers_at_once_one_sees_the_run_of_the_other(self, pair: tuple[Store, Store]) -> None:
        """Whoever comes second waits for the first, and then decides."""
        await put(pair[0], schedule())

        def trigger(views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[ScheduleWrite]:
            (view,) = views
            made = new_run(len(view.live) + 1, origin=Origin.TRIGGER, schedule="nightly", schedule_id=view.schedule.id)
            return [ScheduleWrite(name="nightly", schedule=view.schedule, insert=() if view.live else (made,))]

        await asyncio.gather(*(pair[n % 2].change_schedules(NIGHTLY, trigger, now=NOW) for n in range(8)))
        assert len((await pair[0].list_runs(RunFilter(), Page())).items) == 1

    async def test_a_key_that_is_taken_meanwhile_is_a_conflict(self, store: Store, line: Line) -> None:
        """A run by hand is not left out in silence, and nothing of the change is written."""
        await put(store, schedule())
        await add(store, new_run(1, unique_key="other"))
        by_hand = new_run(2, origin=Origin.TRIGGER, schedule="nightly", schedule_id=schedule().id, unique_key="k")
        edited = schedule(revision=2)
        write = ScheduleWrite(name="nightly", schedule=edited, insert=(by_hand,))
        async with line.transaction():
            await line.execute("UPDATE puntual.runs SET unique_key = 'k' WHERE id = $1::text::uuid", uid(1))
            changing = asyncio.create_task(store.change_schedules(NIGHTLY, writing(write), now=NOW))
            await _somebody_waits(line)
        with pytest.raises(ConflictError, match=uid(1)):
            await changing
        assert (await named(store, "nightly")).revision == 1

    async def test_changes_of_many_in_opposite_order_do_not_block_each_other(self, pair: tuple[Store, Store]) -> None:
        """Rows are locked in the order of their ids."""
        names = [f"s{number}" for number in range(50)]
        await put(pair[0], *(schedule(name) for name in names))
        given = [Selection(names=tuple(names)), Selection(names=tuple(reversed(names))), Selection(everything=True)]
        await asyncio.gather(
            *(pair[n % 2].change_schedules(given[n % 3], _as_seen, now=NOW) for n in range(12)),
            *(pair[n % 2].pause_all(Pause(since=NOW, until=NOW), now=NOW) for n in range(2)),
        )
        assert len(await pair[0].list_schedules()) == 50


def _as_seen(views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[ScheduleWrite]:
    return [ScheduleWrite(name=view.schedule.name, schedule=view.schedule) for view in views]


async def _withdrawable(store: Store) -> list[int]:
    numbers: list[int] = []

    def look(views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[ScheduleWrite]:
        numbers.extend(sorted(number for view in views for number, _, _ in view.withdrawable))
        return []

    await store.change_schedules(NIGHTLY, look, now=NOW)
    return numbers


class TestStatements:
    """Nothing reads all schedules, or all runs, to plan a few."""

    @pytest.fixture
    async def many(self, store: Store, line: Line) -> list[str]:
        """100,000 schedules, a fifth of them with a run, of which 200 are due to be looked at: the ids of these."""
        await put(store, schedule("first"))
        await add(store, tick_run(schedule("first"), 1))
        await line.execute(_SCHEDULES, NOW)
        await line.execute(_RUNS)
        await line.execute("VACUUM ANALYZE puntual.schedules, puntual.runs")
        rows = await line.fetch("SELECT id FROM puntual.schedules WHERE look_at <= $1", NOW)
        assert len(rows) == 200
        return [id for (id,) in rows]

    async def test_a_round_reads_what_it_plans(self, many: list[str], line: Line) -> None:
        """An idle one the least ``look_at``; else schedules by their time, then each by its id, with its live runs."""
        plan = await explain(line, sql("plan_peek"), NOW, 0)
        assert "schedules_look" in plan.indexes
        assert "schedules" not in plan.scanned
        assert plan.pages < 20
        plan = await explain(line, sql("plan_lock"), NOW, 100, 0)
        assert "schedules_look" in plan.indexes
        assert plan.scanned <= {"pause_of_all"}
        assert plan.pages < 1_000
        plan = await explain(line, sql("plan_read"), many[:100])
        assert {"schedules_pkey", "runs_schedule"} <= plan.indexes
        assert plan.scanned <= {"pause_of_all"}
        assert plan.pages < 1_500
        rows = [(id, 1, tick(1), *cursor_values(cursor_at(1))) for id in many[:100]]
        plan = await explain(line, sql("plan_move"), *columns(rows))
        assert plan.indexes == {"schedules_pkey"}
        assert not plan.scanned

    async def test_what_a_held_snapshot_keeps_is_passed_over(self, many: list[str], line: Line, url: str) -> None:
        """Entries of the past stay in the index while somebody reads for long: none below the floor is read."""
        reader: Line = await asyncpg.connect(url)
        try:
            async with reader.transaction(isolation="repeatable_read"):
                await reader.execute("SELECT FROM puntual.schedules LIMIT 1")
                await line.execute("UPDATE puntual.schedules SET look_at = look_at + $1", 400_000 * 1_000_000)
                assert (await explain(line, sql("plan_peek"), NOW, 0)).pages > 2_000
                floor = NOW + 200_000 * 1_000_000
                assert (await explain(line, sql("plan_peek"), NOW, floor)).pages < 20
                assert (await explain(line, sql("plan_lock"), floor, 100, floor)).pages < 20
        finally:
            await reader.close()
        assert many

    async def test_a_change_by_name_reads_what_it_changes(self, many: list[str], line: Line) -> None:
        """What it could withdraw is found among the runs of its own schedules."""
        plan = await explain(line, sql("change_lock_named"), ["s7", "s8"])
        assert plan.indexes == {"schedules_name_key"}
        plan = await explain(line, sql("change_read"), many[:10], NOW)
        # The part of history for what has no day of its own is empty.
        assert plan.scanned <= {"pause_of_all", "run_history_other"}
        assert plan.pages < 400


_SCHEDULES = """
INSERT INTO puntual.schedules (
    id, name, revision, spec, created_at, updated_at, look_at, next_tick_at, last_tick_at, last_number, caught_up
)
SELECT
    'id' || g, 's' || g, revision, spec, created_at, updated_at,
    CASE WHEN g % 500 = 0 THEN $1::bigint ELSE $1::bigint + g::bigint * 1000000 END, next_tick_at, last_tick_at, 0, 0
FROM puntual.schedules CROSS JOIN generate_series(1, 99500) AS g WHERE name = 'first'
"""
_RUNS = """
INSERT INTO puntual.runs (id, task, args, queue, priority, schedule_id, schedule, tick_at, tick_number, max_attempts)
SELECT gen_random_uuid(), task, args, queue, priority, 'id' || g, 's' || g, tick_at, 1, 5
FROM puntual.runs CROSS JOIN generate_series(1, 20000) AS g
"""
