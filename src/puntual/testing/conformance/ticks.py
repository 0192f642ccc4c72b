"""What list_ticks and prune promise: every tick accounted for once, as long as ticks are kept."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Evidence
from puntual.model.run import RunState
from puntual.model.schedule import Fate, FateReason, Schedule, Stretch, Tick
from puntual.store.contract import Store
from puntual.store.requests import Page, PlanWrite, RunFilter, TickFilter
from puntual.testing.conformance.build import (
    DAY,
    MINUTE,
    NOW,
    SECOND,
    add,
    after,
    cursor_at,
    deciding,
    end,
    fetch,
    hand_out,
    join,
    kill,
    named,
    new_run,
    plan_to,
    put,
    schedule,
    start,
    take,
    tick,
    tick_run,
    uid,
)

NIGHTLY = TickFilter(schedule="nightly")


def stretch(number: int, count: int, fate: Fate = Fate.SKIPPED, reason: FateReason | None = None) -> Stretch:
    """Ticks ``number`` to ``number + count - 1``, with one fate."""
    return Stretch(number, tick(number), tick(number + count - 1), count, at_least=False, fate=fate, reason=reason)


async def _ticks(store: Store, where: TickFilter = NIGHTLY) -> list[Tick]:
    return list((await store.list_ticks(where, Page())).items)


def _numbers(ticks: list[Tick]) -> list[int]:
    """The number of every tick in the rows, newest first."""
    return [number for row in ticks for number in reversed(range(row.number, row.number + row.count))]


async def _pass(store: Store, owner: Schedule, number: int, *closed: Stretch, open_: Stretch | None = None) -> Schedule:
    """Moves the schedule to ``number`` with these stretches and no runs."""
    await put(store, owner)
    cursor = cursor_at(number, stretch=open_)
    decide = deciding(lambda seen: plan_to(seen, number, runs=(), stretches=closed, cursor=cursor))
    await store.plan(decide, now=NOW)
    return await named(store, owner.name)


async def _prune(store: Store, now: int) -> int:
    total = 0
    while removed := await store.prune(limit=100, now=now):
        assert removed <= 100
        total += removed
    return total


class TestTicks:
    """The tick record."""

    async def test_a_tick_with_a_run_stands_alone(self, store: Store) -> None:
        """It names its run, its state and, once started, its lateness."""
        owner = await hand_out(store, schedule(), 1)
        await join(store)
        (run,) = await take(store, now=tick(1))
        await end(store, run, now=tick(1) + 3 * SECOND)
        (row,) = await _ticks(store)
        assert (row.schedule, row.number, row.tick_at, row.last_tick_at, row.count) == (
            "nightly",
            1,
            tick(1),
            tick(1),
            1,
        )
        assert (row.fate, row.run_id, row.run_state) == (Fate.RAN, tick_run(owner, 1).id, RunState.SUCCEEDED)
        assert row.lateness_us == 3 * SECOND

    async def test_a_tick_whose_run_has_not_started_is_planned(self, store: Store) -> None:
        """Its run waits."""
        await hand_out(store, schedule(), 1)
        (row,) = await _ticks(store)
        assert (row.fate, row.run_state, row.lateness_us) == (Fate.PLANNED, RunState.PENDING, None)

    async def test_a_stretch_is_one_row(self, store: Store) -> None:
        """Ticks of one fate in a row are told by their first, their last and their count."""
        await _pass(store, schedule(), 5, stretch(1, 5, Fate.MISSED, FateReason.DOWN))
        (row,) = await _ticks(store)
        assert (row.number, row.tick_at, row.last_tick_at, row.count) == (1, tick(1), tick(5), 5)
        assert (row.fate, row.reason, row.run_id) == (Fate.MISSED, FateReason.DOWN, None)

    async def test_an_open_stretch_is_listed_too(self, store: Store) -> None:
        """What is still growing counts already, and once."""
        await _pass(store, schedule(), 4, stretch(1, 1), open_=stretch(2, 3, Fate.MISSED))
        assert _numbers(await _ticks(store)) == [4, 3, 2, 1]

    async def test_a_stretch_that_closes_is_listed_once(self, store: Store) -> None:
        """It moves from the schedule's row to one of its own."""
        await _pass(store, schedule(), 3, open_=stretch(1, 3))
        owner = await named(store, "nightly")
        closed = plan_to(owner, 4, stretches=(stretch(1, 3),))
        await store.plan(deciding(lambda _: closed), now=tick(4))
        assert _numbers(await _ticks(store)) == [4, 3, 2, 1]

    async def test_a_capped_count_says_at_least(self, store: Store) -> None:
        """A count that was not carried on is marked."""
        capped = msgspec.structs.replace(stretch(1, 100_000, Fate.MISSED), at_least=True)
        await _pass(store, schedule(), 100_000, capped)
        (row,) = await _ticks(store)
        assert (row.count, row.at_least) == (100_000, True)

    async def test_filters_choose(self, store: Store) -> None:
        """By schedule, by fate, and by the instant of the tick."""
        await _pass(
            store, schedule(), 3, stretch(1, 1, Fate.MISSED), stretch(2, 1, Fate.SKIPPED), stretch(3, 1, Fate.MISSED)
        )
        await _pass(store, schedule("other"), 1, stretch(1, 1, Fate.MISSED))
        assert len(await _ticks(store, TickFilter())) == 4
        where = TickFilter(schedule="nightly", fates=(Fate.MISSED,))
        assert _numbers(await _ticks(store, where)) == [3, 1]
        where = TickFilter(schedule="nightly", since=tick(2), until=tick(3))
        assert 2 in _numbers(await _ticks(store, where))
        assert 1 not in _numbers(await _ticks(store, where))

    async def test_filters_choose_planned_and_ran(self, store: Store) -> None:
        """A fate that only a run tells can be asked for."""
        await hand_out(store, schedule(), 2)
        await join(store)
        for run in await take(store, now=tick(1)):
            await end(store, run, now=tick(1))
        assert _numbers(await _ticks(store, TickFilter(schedule="nightly", fates=(Fate.RAN,)))) == [1]
        assert _numbers(await _ticks(store, TickFilter(schedule="nightly", fates=(Fate.PLANNED,)))) == [2]

    async def test_the_limit_bounds_a_page_to_the_newest(self, store: Store) -> None:
        """The newest come first."""
        await hand_out(store, schedule(), 9)
        assert [row.number for row in (await store.list_ticks(NIGHTLY, Page(limit=3))).items] == [9, 8, 7]

    @pytest.mark.parametrize("where", [TickFilter(), TickFilter(schedule="a"), TickFilter(fates=(Fate.PLANNED,))])
    async def test_pages_join_without_seam(self, store: Store, where: TickFilter) -> None:
        """Each page goes on after the key of the last tick seen, runs and stretches of several schedules mixed."""
        for name in ("a", "b:c", "d"):
            owner = await hand_out(store, schedule(name), 4)
            write = plan_to(owner, 9, stretches=(stretch(5, 2),), runs=tuple(tick_run(owner, at) for at in (7, 8, 9)))
            await store.plan(deciding(_only(name, write)), now=tick(5))
        whole = (await store.list_ticks(where, Page())).items
        part = await store.list_ticks(where, Page(limit=3))
        seen = list(part.items)
        while part.next is not None:
            part = await store.list_ticks(where, Page(limit=3, after=part.next))
            seen += part.items
        assert tuple(seen) == whole
        assert [row.tick_at for row in whole] == sorted((row.tick_at for row in whole), reverse=True)
        assert len(whole) == {"a": 8}.get(where.schedule or "", 21 if where.fates else 24)

    async def test_a_tick_cancelled_before_its_start_did_not_run(self, store: Store) -> None:
        """Its run ended without ever being started; one that was started ran, however it ended."""
        owner = await hand_out(store, schedule(), 3, now=tick(3))
        await join(store)
        (run,) = await take(store, limit=1, now=tick(3))
        await store.cancel([run.id, *(tick_run(owner, number).id for number in (2, 3))], now=tick(3))
        await end(store, await fetch(store, run.id), OutcomeKind.FAILED, now=tick(3))
        rows = await _ticks(store)
        assert [(row.number, row.fate, row.reason, row.run_state) for row in rows] == [
            (3, Fate.SKIPPED, FateReason.CANCELLED, RunState.CANCELLED),
            (2, Fate.SKIPPED, FateReason.CANCELLED, RunState.CANCELLED),
            (1, Fate.RAN, None, RunState.CANCELLED),
        ]
        skipped = TickFilter(schedule="nightly", fates=(Fate.SKIPPED,))
        assert [row.number for row in await _ticks(store, skipped)] == [3, 2]
        assert [row.number for row in await _ticks(store, TickFilter(fates=(Fate.RAN,)))] == [1]
        last = (await named(store, "nightly")).last
        assert last is not None
        assert (last.tick_at, last.fate) == (tick(3), Fate.SKIPPED)

    async def test_runs_made_by_hand_are_no_ticks(self, store: Store) -> None:
        """A trigger leaves no tick behind."""
        owner = await hand_out(store, schedule(), 1)
        await add(store, new_run(1, schedule="nightly", schedule_id=owner.id))
        assert _numbers(await _ticks(store)) == [1]

    async def test_a_schedule_tells_its_last_tick(self, store: Store) -> None:
        """Lists show what came of the tick before."""
        owner = await hand_out(store, schedule(), 1)
        await join(store)
        (run,) = await take(store, now=tick(1))
        await end(store, run, now=tick(1))
        last = (await named(store, "nightly")).last
        assert last is not None
        assert (last.tick_at, last.fate, last.run_id, last.run_state) == (
            tick(1),
            Fate.RAN,
            tick_run(owner, 1).id,
            RunState.SUCCEEDED,
        )

    async def test_a_skipped_last_tick_is_told(self, store: Store) -> None:
        """A tick that made no run is the last one too."""
        owner = await _pass(store, schedule(), 2, open_=stretch(1, 2))
        assert owner.last is not None
        assert (owner.last.tick_at, owner.last.fate, owner.last.run_id) == (tick(2), Fate.SKIPPED, None)


class TestPrune:
    """What may go goes, in pieces, and no tick is lost."""

    async def test_each_outcome_has_its_own_retention(self, store: Store) -> None:
        """Successes go after a week; dead and cancelled runs stay for 90 days."""
        (run,) = await start(store, new_run(1))
        await end(store, run)
        await kill(store, new_run(2))
        await add(store, new_run(3))
        await store.cancel([uid(3)], now=NOW)
        assert await _prune(store, NOW + 6 * DAY) == 0
        assert await _prune(store, NOW + 9 * DAY) == 1
        assert [run.id for run in (await store.list_runs(RunFilter(), Page())).items] == [uid(3), uid(2)]
        assert await _prune(store, NOW + 88 * DAY) == 0
        assert await _prune(store, NOW + 92 * DAY) == 2
        assert (await store.list_runs(RunFilter(), Page())).items == ()

    async def test_live_runs_are_never_removed(self, store: Store) -> None:
        """However old, a run that is owed stays."""
        await start(store, new_run(1))
        await add(store, new_run(2))
        assert await _prune(store, NOW + 4_000 * DAY) == 0
        assert len((await store.list_runs(RunFilter(), Page())).items) == 2

    async def test_a_removed_run_takes_its_answers_with_it(self, store: Store) -> None:
        """Evidence is kept as long as its run."""
        (run,) = await start(store, new_run(1))
        await end(store, run, evidence=Evidence(body=b"x"))
        await _prune(store, NOW + 9 * DAY)
        assert await store.get_run(uid(1)) is None
        assert await store.get_response(uid(1), 1) is None

    async def test_a_round_is_bounded(self, store: Store) -> None:
        """One call removes at most what it was allowed, or a day whole."""
        runs = await start(store, *(new_run(number) for number in range(10)))
        await store.settle([after(run, OutcomeKind.SUCCEEDED) for run in runs], now=NOW)
        rounds = [await store.prune(limit=4, now=NOW + 9 * DAY) for _ in range(4)]
        assert rounds in ([4, 4, 2, 0], [10, 0, 0, 0])

    async def test_ticks_outlive_their_runs(self, store: Store) -> None:
        """What was pruned is one stretch of ticks that ran, with first, last and count."""
        await _run_all(store, schedule(), 5)
        assert await _prune(store, NOW + 9 * DAY) == 5
        (row,) = await _ticks(store)
        assert (row.number, row.tick_at, row.last_tick_at, row.count, row.fate) == (1, tick(1), tick(5), 5, Fate.RAN)

    async def test_ticks_folded_in_pieces_are_one_stretch(self, store: Store) -> None:
        """Bounded rounds leave what one round would have left."""
        await _run_all(store, schedule(), 7)
        while await store.prune(limit=2, now=NOW + 9 * DAY):
            assert _numbers(await _ticks(store)) == [7, 6, 5, 4, 3, 2, 1]
        assert [row.count for row in await _ticks(store)] == [7]

    async def test_cancelled_ticks_are_folded_apart_from_those_that_ran(self, store: Store) -> None:
        """Each fate keeps its own stretch, also when they are folded one by one."""
        owner = await hand_out(store, schedule(), 5, now=tick(5))
        await store.cancel([tick_run(owner, number).id for number in (1, 4, 5)], now=tick(5))
        await join(store)
        for run in await take(store, now=tick(5)):
            await end(store, run, now=tick(5))
        while await store.prune(limit=1, now=NOW + 92 * DAY):
            pass
        assert [(row.number, row.count, row.fate, row.reason) for row in await _ticks(store)] == [
            (4, 2, Fate.SKIPPED, FateReason.CANCELLED),
            (2, 2, Fate.RAN, None),
            (1, 1, Fate.SKIPPED, FateReason.CANCELLED),
        ]

    async def test_a_run_that_stays_parts_the_stretches_until_it_goes(self, store: Store) -> None:
        """Each tick is told once all along; in the end one stretch holds them all."""
        await _run_all(store, schedule(), 5, dead=3)
        await _prune(store, NOW + 9 * DAY)
        rows = await _ticks(store)
        assert [(row.number, row.count, row.run_id is not None) for row in rows] == [
            (4, 2, False),
            (3, 1, True),
            (1, 2, False),
        ]
        await _prune(store, NOW + 92 * DAY)
        assert [(row.number, row.count) for row in await _ticks(store)] == [(1, 5)]

    @pytest.mark.parametrize(("fate", "reason"), [(Fate.SKIPPED, FateReason.OVERLAP), (Fate.COALESCED, None)])
    async def test_fates_are_not_mixed(self, store: Store, fate: Fate, reason: FateReason | None) -> None:
        """Ticks of another fate between those that ran keep their own row."""
        await _run_all(store, schedule(), 2)
        owner = await named(store, "nightly")
        write = plan_to(owner, 4, runs=(tick_run(owner, 4),), stretches=(stretch(3, 1, fate, reason),))
        await store.plan(deciding(lambda _: write), now=tick(4))
        for run in await take(store, now=tick(4)):
            await end(store, run, now=tick(4))
        await _prune(store, NOW + 9 * DAY)
        assert [(row.number, row.count, row.fate) for row in await _ticks(store)] == [
            (4, 1, Fate.RAN),
            (3, 1, fate),
            (1, 2, Fate.RAN),
        ]

    async def test_schedules_are_folded_apart(self, store: Store) -> None:
        """Ticks of two schedules never share a stretch."""
        await _run_all(store, schedule("a"), 3)
        await _run_all(store, schedule("b"), 2)
        await _prune(store, NOW + 9 * DAY)
        rows = await _ticks(store, TickFilter())
        assert sorted((row.schedule, row.count) for row in rows) == [("a", 3), ("b", 2)]

    async def test_ticks_go_when_their_own_time_is_over(self, store: Store) -> None:
        """The record reaches back 400 days."""
        await _run_all(store, schedule(), 3)
        await _prune(store, NOW + 9 * DAY)
        await _prune(store, NOW + 399 * DAY)
        assert _numbers(await _ticks(store)) == [3, 2, 1]
        await _prune(store, NOW + 402 * DAY)
        assert await _ticks(store) == []

    async def test_a_replayed_run_is_not_pruned_by_its_first_end(self, store: Store) -> None:
        """Back among the living, it stays until its next end's day has come."""
        await kill(store, new_run(1))
        await store.replay(RunFilter(ids=(uid(1),)), now=NOW + MINUTE)
        assert await _prune(store, NOW + 92 * DAY) == 0
        (run,) = await take(store, now=NOW + 92 * DAY)
        await end(store, run, now=NOW + 92 * DAY)
        assert await _prune(store, NOW + 95 * DAY) == 0
        assert (await fetch(store, uid(1))).state is RunState.SUCCEEDED


def _only(name: str, write: PlanWrite) -> Callable[[Schedule], PlanWrite | None]:
    return lambda seen: write if seen.name == name else None


async def _run_all(store: Store, owner: Schedule, number: int, *, dead: int = 0) -> None:
    """Plans the ticks up to ``number`` and ends their runs, one of them dead."""
    await hand_out(store, owner, number)
    await join(store)
    for run in await take(store, now=tick(number)):
        died = run.tick_number == dead
        kind = OutcomeKind.FAILED if died else OutcomeKind.SUCCEEDED
        await end(store, run, kind, now=tick(number), final=died)
