"""What plan promises: read, decide, move the cursor and insert the runs in one transaction, each tick once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from puntual.model.errors import StoreDataError
from puntual.model.run import RunState
from puntual.model.schedule import Fate, FateReason, Pause, Schedule, Stretch
from puntual.store.contract import Store
from puntual.store.requests import Page, PlanView, PlanWrite, RunFilter, TickFilter
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    SECOND,
    add,
    cursor_at,
    deciding,
    end,
    failing,
    fetch,
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
)


class _Watcher:
    """A ``decide`` that keeps what it was shown and writes nothing."""

    def __init__(self) -> None:
        self.views: list[PlanView] = []
        self.pauses: list[Pause | None] = []
        self.nows: list[int] = []

    def __call__(self, views: Sequence[PlanView], pause: Pause | None, now: int) -> list[PlanWrite]:
        self.views += views
        self.pauses.append(pause)
        self.nows.append(now)
        return []

    @property
    def names(self) -> list[str]:
        return sorted(view.schedule.name for view in self.views)


async def _shown(store: Store, *, now: int = NOW, limit: int = 500) -> _Watcher:
    watcher = _Watcher()
    await store.plan(watcher, now=now, limit=limit)
    return watcher


def _sleeping(name: str, look_at: int | None) -> Schedule:
    return schedule(name, cursor=cursor_at(0, look_at=look_at))


class TestPlanReads:
    """Which schedules are looked at, and what of them."""

    async def test_schedules_whose_time_has_come_are_shown(self, store: Store) -> None:
        """``look_at`` decides; one that is None is never looked at by itself."""
        await put(store, _sleeping("due", NOW), _sleeping("later", NOW + MINUTE), _sleeping("never", None))
        assert (await _shown(store)).names == ["due"]
        assert (await _shown(store, now=NOW + MINUTE)).names == ["due", "later"]

    async def test_the_stores_time_is_shown(self, store: Store) -> None:
        """``decide`` gets the time of the transaction."""
        await put(store, schedule())
        assert (await _shown(store, now=NOW + SECOND)).nows == [NOW + SECOND]

    async def test_the_schedule_is_shown_as_it_was_written(self, store: Store) -> None:
        """Everything of it comes back."""
        made = schedule(cursor=cursor_at(0, look_at=NOW, seen_at=NOW - 5, caught_up=3, stretch=_stretch(1, 3)))
        await put(store, made)
        (view,) = (await _shown(store)).views
        assert msgspec.structs.replace(view.schedule, last=None) == made

    async def test_live_runs_are_shown(self, store: Store) -> None:
        """A pending, a running or a retrying run of the schedule is live; an ended one is not."""
        owner = await hand_out(store, schedule(), 2)
        await store.plan(deciding(_look_now), now=tick(3))
        await join(store)
        assert set((await _shown(store, now=tick(3))).views[0].live) == {tick_run(owner, at).id for at in (1, 2)}
        for run in await take(store, now=tick(3)):
            await end(store, run, now=tick(3))
        assert (await _shown(store, now=tick(3))).views[0].live == ()

    async def test_the_limit_bounds_the_views_and_says_that_there_are_more(self, store: Store) -> None:
        """A full round tells that another one may find work now."""
        await put(store, *(schedule(f"s{number}") for number in range(10)))
        planned = await store.plan(deciding(lambda seen: plan_to(seen, 1)), limit=4, now=NOW)
        assert (planned.schedules, planned.runs, planned.full) == (4, 4, True)
        rounds = [await store.plan(deciding(lambda seen: plan_to(seen, 1)), limit=4, now=NOW)]
        rounds += [await store.plan(deciding(lambda seen: plan_to(seen, 1)), limit=4, now=NOW)]
        assert [planned.runs for planned in rounds] == [4, 2]
        assert not rounds[-1].full

    async def test_a_full_round_takes_those_that_have_waited_longest(self, store: Store) -> None:
        """Nobody is passed over for long."""
        await put(store, *(_sleeping(f"s{number}", NOW - number * MINUTE) for number in range(5)))
        assert (await _shown(store, limit=3)).names == ["s2", "s3", "s4"]

    async def test_the_next_look_is_told(self, store: Store) -> None:
        """A planner learns when to come back."""
        await put(store, _sleeping("a", NOW + 2 * MINUTE), _sleeping("b", NOW + MINUTE), _sleeping("c", None))
        planned = await store.plan(_Watcher(), now=NOW)
        assert (planned.next_look_at, planned.full, planned.now) == (NOW + MINUTE, False, NOW)

    async def test_without_schedules_there_is_no_next_look(self, store: Store) -> None:
        """Nothing to look at, ever."""
        planned = await store.plan(_Watcher(), now=NOW)
        assert (planned.schedules, planned.runs, planned.next_look_at) == (0, 0, None)

    async def test_the_pause_of_everything_is_shown(self, store: Store) -> None:
        """``decide`` knows whether everything is paused."""
        await put(store, schedule())
        pause = Pause(since=NOW, until=NOW + MINUTE, reason="night")
        await store.pause_all(pause, now=NOW)
        assert (await _shown(store)).pauses == [pause]


class TestPlanWrites:
    """What a plan leaves."""

    async def test_cursor_and_runs_are_written(self, store: Store) -> None:
        """The schedule moves on and its ticks are pending runs."""
        await put(store, schedule())
        planned = await store.plan(deciding(lambda seen: plan_to(seen, 2)), now=NOW)
        assert (planned.schedules, planned.runs, planned.queues) == (1, 2, ("default",))
        found = await named(store, "nightly")
        assert (found.cursor, found.revision) == (cursor_at(2), 1)
        run = await fetch(store, tick_run(found, 2).id)
        assert (run.state, run.due_at, run.tick_at, run.tick_number) == (RunState.PENDING, tick(2), tick(2), 2)
        assert (run.schedule, run.schedule_id) == ("nightly", found.id)

    async def test_a_moved_schedule_is_not_shown_again(self, store: Store) -> None:
        """Its new ``look_at`` counts."""
        await hand_out(store, schedule(), 1)
        assert (await _shown(store)).names == []

    async def test_a_tick_planned_twice_is_one_run(self, store: Store) -> None:
        """The run of a tick that stands already is left as it is, whoever plans it."""
        owner = schedule()
        await put(store, owner)
        await add(store, tick_run(owner, 1))
        planned = await store.plan(deciding(lambda seen: plan_to(seen, 2)), now=NOW)
        assert planned.runs in (1, 2)
        assert len((await store.list_runs(RunFilter(), Page())).items) == 2

    async def test_a_tick_whose_key_was_taken_in_its_own_round_is_skipped(self, store: Store) -> None:
        """Two schedules with one unique key come due together: one runs, and the other's tick has its fate too."""
        await put(store, schedule("a"), schedule("b"))
        decide = deciding(lambda seen: plan_to(seen, 1, runs=(tick_run(seen, 1, unique_key="k"),)))
        planned = await store.plan(decide, now=NOW)
        assert (planned.schedules, planned.runs) == (2, 1)
        rows = {row.schedule: row for row in (await store.list_ticks(TickFilter(), Page())).items}
        (run,) = (await store.list_runs(RunFilter(), Page())).items
        loser = rows["a" if run.schedule == "b" else "b"]
        assert (loser.number, loser.tick_at, loser.fate, loser.reason) == (1, tick(1), Fate.SKIPPED, FateReason.OVERLAP)
        assert rows[run.schedule or ""].fate is Fate.PLANNED

    @pytest.mark.parametrize("change", [{"revision": 2}, {"was_next_tick_at": tick(2)}, {"was_next_tick_at": None}])
    async def test_a_write_from_an_old_look_is_not_made(self, store: Store, change: dict[str, object]) -> None:
        """Revision and next tick must be those read: else neither cursor nor runs are written."""
        await put(store, schedule())
        decide = deciding(lambda seen: msgspec.structs.replace(plan_to(seen, 1), **change))
        assert (await store.plan(decide, now=NOW)).runs == 0
        assert (await named(store, "nightly")).cursor == schedule().cursor
        assert (await store.list_runs(RunFilter(), Page())).items == ()

    async def test_one_stale_write_does_not_hold_up_the_others(self, store: Store) -> None:
        """Each schedule has its own guard."""
        await put(store, schedule("a"), schedule("b"))
        changes = {"a": {"revision": 9}, "b": {}}
        decide = deciding(lambda seen: msgspec.structs.replace(plan_to(seen, 1), **changes[seen.name]))
        assert (await store.plan(decide, now=NOW)).runs == 1
        assert (await named(store, "b")).cursor == cursor_at(1)

    async def test_a_decide_that_raises_leaves_nothing(self, store: Store) -> None:
        """The error comes through and the schedules stand as before."""
        await put(store, schedule())
        with pytest.raises(ZeroDivisionError):
            await store.plan(failing, now=NOW)
        assert (await named(store, "nightly")).cursor == schedule().cursor
        assert (await _shown(store)).names == ["nightly"]

    async def test_a_run_that_is_refused_leaves_nothing(self, store: Store) -> None:
        """Cursor and runs stand or fall together."""
        await put(store, schedule())
        bad = deciding(lambda seen: plan_to(seen, 2, runs=(tick_run(seen, 1), tick_run(seen, 2, args="\ud800"))))
        with pytest.raises(StoreDataError):
            await store.plan(bad, now=NOW)
        assert (await named(store, "nightly")).cursor == schedule().cursor
        assert (await store.list_runs(RunFilter(), Page())).items == ()

    async def test_concurrent_planners_hand_out_each_tick_once(self, store: Store) -> None:
        """However many plan at once, a schedule moves once for each tick."""
        await put(store, *(schedule(f"s{number}") for number in range(20)))
        decide = deciding(lambda seen: plan_to(seen, seen.cursor.last_number + 1))
        planned = await asyncio.gather(*(store.plan(decide, now=NOW) for _ in range(8)))
        assert sum(answer.runs for answer in planned) == 20
        assert len((await store.list_runs(RunFilter(), Page())).items) == 20

    async def test_a_cancel_asked_reaches_the_live_run(self, store: Store) -> None:
        """A running run is asked to stop."""
        owner = await hand_out(store, schedule(), 1)
        await join(store)
        (run,) = await take(store, now=tick(2))
        decide = deciding(lambda seen: plan_to(seen, 1, cancel=(run.id,)))
        await store.plan(decide, now=tick(2))
        assert (await fetch(store, tick_run(owner, 1).id)).cancel_requested

    async def test_a_cancel_asked_ends_a_pending_run(self, store: Store) -> None:
        """A live run that has not started is cancelled at once."""
        owner = await hand_out(store, schedule(), 1)
        decide = deciding(lambda seen: plan_to(seen, 1, cancel=(tick_run(owner, 1).id,)))
        await store.plan(decide, now=tick(2))
        assert (await fetch(store, tick_run(owner, 1).id)).state is RunState.CANCELLED

    async def test_a_waiting_tick_is_looked_at_when_its_run_ends(self, store: Store) -> None:
        """A settle brings back a schedule whose tick waits behind the run that ended."""
        await hand_out(store, schedule(), 1)
        await join(store)
        (run,) = await take(store, now=tick(1))
        wait = cursor_at(1, look_at=tick(9), seen_at=tick(2))
        await store.plan(deciding(lambda seen: plan_to(seen, 1, cursor=wait)), now=tick(2))
        assert (await _shown(store, now=tick(3))).names == []
        await end(store, run, now=tick(3))
        assert (await _shown(store, now=tick(3))).names == ["nightly"]


class TestPauseAll:
    """One row that plan and claim read."""

    async def test_the_pause_is_kept(self, store: Store) -> None:
        """It can be read back while it holds and when it is over."""
        assert await store.paused_all() is None
        pause = Pause(since=NOW, reason="ñ", by_hand=False)
        for last in (pause, msgspec.structs.replace(pause, until=NOW + SECOND)):
            await store.pause_all(last, now=NOW)
            assert await store.paused_all() == last

    async def test_resuming_makes_every_schedule_looked_at(self, store: Store) -> None:
        """Those too that would have slept longer, and one that would never wake by itself."""
        await put(store, _sleeping("a", NOW + MINUTE), _sleeping("b", NOW), _sleeping("c", None))
        await store.pause_all(Pause(since=NOW), now=NOW)
        await store.pause_all(Pause(since=NOW, until=NOW + SECOND), now=NOW + SECOND)
        assert (await _shown(store, now=NOW + SECOND)).names == ["a", "b", "c"]

    async def test_a_pause_that_is_over_is_shown_to_plan(self, store: Store) -> None:
        """Ticks that it covered are told from those that were missed."""
        await put(store, schedule())
        over = Pause(since=NOW - MINUTE, until=NOW)
        await store.pause_all(over, now=NOW)
        assert (await _shown(store)).pauses == [over]

    async def test_a_pause_that_has_run_out_holds_nothing(self, store: Store) -> None:
        """From its ``until`` on runs are claimed again."""
        await join(store)
        await add(store, new_run(1))
        await store.pause_all(Pause(since=NOW, until=NOW + SECOND), now=NOW)
        assert await take(store, now=NOW + SECOND - 1) == ()
        assert [run.id for run in await take(store, now=NOW + SECOND)] == [uid(1)]


def _stretch(number: int, count: int, fate: Fate = Fate.SKIPPED) -> Stretch:
    return Stretch(
        number, tick(number), tick(number + count - 1), count, at_least=False, fate=fate, reason=FateReason.OVERLAP
    )


def _look_now(seen: Schedule) -> PlanWrite:
    return plan_to(seen, 2, cursor=cursor_at(2, look_at=NOW))
