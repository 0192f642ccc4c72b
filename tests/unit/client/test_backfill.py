"""A backfill makes each run once, whatever is repeated and in whatever pieces, and leaves alone what ran."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import pytest

import puntual
from puntual.client.backfill import Backfilled, BackfillOptions
from puntual.model.errors import ConflictError, InvalidError, NotFoundError
from puntual.model.instant import DAY, HOUR, MINUTE
from puntual.model.run import Origin, Priority, RunState
from puntual.model.schedule import Fate, Overlap, Target
from puntual.settings import Settings
from puntual.store.requests import Page, QueueEdit, Retention, RunFilter, Selection
from puntual.store.sqlite import SqliteStore
from puntual.testing import ManualApp
from puntual.testing.manual import ManualClock
from tests.support.hand import Hand
from tests.support.plans import every
from tests.support.ticks import all_ticks

START = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z


@pytest.fixture
async def manual() -> AsyncIterator[ManualApp]:
    """An engine driven by hand, with a task that any schedule may name."""
    async with ManualApp() as manual:

        @manual.task(name="t")
        def t() -> None: ...

        yield manual


async def hourly(manual: ManualApp, **fields: object) -> None:
    """A schedule of every hour."""
    await manual.app.schedules.put("hourly", every="1h", anchor="2026-01-01T00:00:00Z", task="t", **fields)


async def made(manual: ManualApp) -> list[int]:
    """The hours whose runs a backfill made, oldest first."""
    runs = await manual.app.store.list_runs(RunFilter(origins=(Origin.BACKFILL,)), Page(limit=1000))
    return sorted(((run.tick_at or 0) - START) // HOUR for run in runs.items)


async def backfill(manual: ManualApp, since: int, until: int | None = None, **how: object) -> Backfilled:
    """From one hour to another, ``until`` excluded."""
    end = None if until is None else START + until * HOUR
    options = BackfillOptions(**how)  # type: ignore[arg-type]  # whatever a test says
    return await manual.app.schedules.backfill("hourly", since=START + since * HOUR, until=end, options=options)


async def test_what_ran_is_skipped_and_what_came_before_the_schedule_is_not(manual: ManualApp) -> None:
    """A schedule made today has a yesterday all the same."""
    await hourly(manual)
    await manual.advance("3h")
    found = await backfill(manual, -3)
    assert (found.ticks, found.runs, found.existing, found.skipped) == (6, 4, 0, {"ran": 2})
    assert await made(manual) == [-3, -2, -1, 0]


async def test_a_dry_run_says_the_same_and_makes_nothing(manual: ManualApp) -> None:
    """Its first and last ticks are those that would run, none twice."""
    await hourly(manual)
    await manual.advance("10m")
    schedules = manual.app.schedules
    dry = await schedules.backfill("hourly", since=START - 8 * HOUR, dry_run=True)
    assert await made(manual) == []
    assert dry == await schedules.backfill("hourly", since=START - 8 * HOUR)
    assert [(tick - START) // HOUR for tick in dry.first] == [-8, -7, -6]
    assert [(tick - START) // HOUR for tick in dry.last] == [-2, -1, 0]


async def test_a_repeat_makes_nothing_twice(manual: ManualApp) -> None:
    """Before its runs have run, and after."""
    await hourly(manual)
    await backfill(manual, -3)
    pending = await backfill(manual, -4)
    await manual.run_due()
    over = await backfill(manual, -5)
    assert [(found.runs, found.existing) for found in (pending, over)] == [(1, 3), (1, 4)]
    assert await made(manual) == [-5, -4, -3, -2, -1]


async def test_a_limit_says_where_to_go_on(manual: ManualApp) -> None:
    """Piece by piece it is the whole, and every tick is counted in one piece."""
    await hourly(manual)
    await manual.advance("2h30m")
    since, pieces = -5, []
    while True:
        pieces.append(await backfill(manual, since, limit=2))
        following = pieces[-1].next_since
        if following is None:
            break
        since = (following - START) // HOUR
    assert [piece.runs for piece in pieces] == [2, 2, 2]
    assert sum(sum(piece.skipped.values()) for piece in pieces) == 2
    assert await made(manual) == [-5, -4, -3, -2, -1, 0]


async def test_a_pending_tick_is_left_to_its_own_run(manual: ManualApp) -> None:
    """Nothing has claimed it yet; it will be."""
    await hourly(manual)
    manual.clock.move_to(START + HOUR)
    await manual.app.store.put_queue(QueueEdit(name="default", paused=True))
    await manual.run_due()
    manual.clock.move_to(START + HOUR + 1)
    found = await backfill(manual, 0)
    assert (found.runs, found.skipped) == (1, {"planned": 1})


async def test_what_the_planner_has_not_looked_at_is_left_to_it(manual: ManualApp) -> None:
    """After an outage the misfire policy decides first; what it passes over can be made up for then."""
    await hourly(manual)
    manual.clock.move_to(START + 5 * HOUR + MINUTE)
    assert (await backfill(manual, 1)).skipped == {"planned": 5}
    await manual.run_due()
    found = await backfill(manual, 1)
    assert (found.runs, found.skipped) == (4, {"ran": 1})
    await manual.run_due()
    assert await made(manual) == [1, 2, 3, 4]


async def test_a_paused_schedule_is_made_up_for_all_the_same(manual: ManualApp) -> None:
    """The pause holds back ticks to come; what it has covered so far, nothing will run by itself."""
    await hourly(manual)
    await manual.advance("1h30m")
    await manual.app.schedules.pause(Selection(names=("hourly",)))
    await manual.advance("2h")
    assert (await backfill(manual, 0)).runs == 3
    assert await manual.run_due() == 3
    await manual.app.schedules.resume(Selection(names=("hourly",)))
    await manual.advance("1h")
    assert await made(manual) == [0, 2, 3]


async def test_the_record_of_ticks_stays_as_it_is(manual: ManualApp) -> None:
    """A tick keeps its one fate: its backfill is a run beside it."""
    await hourly(manual, misfire_policy="skip")
    manual.clock.move_to(START + 5 * HOUR + MINUTE)
    await manual.run_due()
    before = await all_ticks(manual.app, "hourly")
    await backfill(manual, 0)
    await manual.run_due()
    assert await all_ticks(manual.app, "hourly") == before
    assert {tick.fate for tick in before} == {Fate.MISSED}


async def test_a_thousand_runs_of_the_past_delay_no_tick_to_come(manual: ManualApp) -> None:
    """Under skip nothing overlaps, and cancel_other cancels none of them."""
    for overlap in ("skip", "cancel_other"):
        await hourly(manual, overlap=overlap)
        await manual.app.schedules.backfill(
            "hourly",
            since=START - 1_000 * HOUR,
            options=BackfillOptions(queue="past"),
        )
        await manual.app.store.put_queue(QueueEdit(name="past", paused=True))
        await manual.advance("3h")
    ticks = await all_ticks(manual.app, "hourly")
    assert [(tick.fate, tick.run_state) for tick in ticks] == [(Fate.RAN, RunState.SUCCEEDED)] * 6
    assert len(await made(manual)) == 1_000


async def test_a_live_run_is_in_the_way_only_where_that_is_said(manual: ManualApp) -> None:
    """As for a trigger; ``allow_all`` asks for nothing."""
    await hourly(manual)
    run_id = await manual.app.schedules.trigger("hourly")
    for overlap in (Overlap.SKIP, Overlap.BUFFER_ONE, Overlap.BUFFER_ALL):
        with pytest.raises(ConflictError, match=run_id):
            await backfill(manual, -3, overlap=overlap)
    assert (await backfill(manual, -3, overlap=Overlap.ALLOW_ALL)).runs == 3
    assert (await backfill(manual, -4)).runs == 1


async def test_cancel_other_ends_the_live_run_first(manual: ManualApp) -> None:
    """Nobody holds it, so that it is over at once."""
    await hourly(manual)
    run_id = await manual.app.schedules.trigger("hourly")
    assert (await backfill(manual, -3, overlap=Overlap.CANCEL_OTHER)).runs == 3
    assert (await manual.app.runs.row(run_id)).state is RunState.CANCELLED


async def test_the_holder_of_a_unique_key_is_named(manual: ManualApp) -> None:
    """One tick may be made up for, unless the key is taken."""
    await hourly(manual, unique_key="one")
    assert (await backfill(manual, -3, -2)).runs == 1
    with pytest.raises(ConflictError, match="unique key"):
        await backfill(manual, -2, -1)
    with pytest.raises(InvalidError, match="unique key"):
        await backfill(manual, -3, -1)
    await manual.run_due()
    assert (await backfill(manual, -2, -1)).runs == 1


async def test_the_lane_may_be_another_one(manual: ManualApp) -> None:
    """Queue and priority, where they are said."""
    await hourly(manual, queue="nightly", tags=["a"])
    await backfill(manual, -1)
    await backfill(manual, -2, queue="past", priority=Priority.LOW)
    runs = (await manual.app.store.list_runs(RunFilter(origins=(Origin.BACKFILL,)), Page())).items
    assert sorted((run.queue, run.priority.word, run.tags) for run in runs) == [
        ("nightly", "normal", ("a",)),
        ("past", "low", ("a",)),
    ]


async def test_a_tick_is_seen_by_its_handler(manual: ManualApp) -> None:
    """It is the tick that is made up for, not the time of making up."""
    seen = []

    @manual.task(name="look")
    def look(run: puntual.Run) -> None:
        seen.append(run.tick_at)

    await manual.app.schedules.put("hourly", every="1h", anchor="2026-01-01T00:00:00Z", task="look")
    await backfill(manual, -2)
    await manual.run_due()
    assert [f"{tick:%d %H}" for tick in sorted(tick for tick in seen if tick)] == ["31 22", "31 23"]


async def test_an_unknown_schedule_is_named(manual: ManualApp) -> None:
    """With and without a look at its live runs."""
    for overlap in (None, Overlap.SKIP):
        with pytest.raises(NotFoundError, match="'hourly'"):
            await backfill(manual, -2, overlap=overlap)


async def test_what_ran_is_known_when_its_runs_are_gone() -> None:
    """Past the retention of runs the record has them as one stretch, and each tick in it ran."""
    clock = ManualClock(START)
    retention = Retention(succeeded_us=DAY, dead_us=DAY, ticks_us=400 * DAY)
    app = puntual.App(Settings())
    app.connect_to(SqliteStore(":memory:", clock=clock, retention=retention, inline=True), clock)
    async with app:
        hand = Hand(app.store, every(3_600, target=Target("task")), START, Random(0))
        await hand.begin()
        for hour in range(1, 49):
            hand.now = START + hour * HOUR
            await hand.plan()
            await hand.hold()
            await hand.end_all()
        clock.move_to(START + 10 * DAY)
        hand.now = clock.now()
        await hand.prune()
        assert not (await app.store.list_runs(RunFilter(), Page())).items
        found = await app.schedules.backfill("job", since=START - HOUR, until=START + 49 * HOUR)
        assert (found.runs, found.skipped) == (2, {"ran": 48})
