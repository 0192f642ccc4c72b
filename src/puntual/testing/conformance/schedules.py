"""What change_schedules promises: everything that was decided, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.errors import ConflictError
from puntual.model.policy import Backoff, RetryPolicy
from puntual.model.run import Origin, Priority, RunState
from puntual.model.schedule import (
    Fate,
    FateReason,
    MisfirePolicy,
    Overlap,
    Pause,
    Schedule,
    ScheduleSpec,
    Stretch,
    Target,
)
from puntual.store.contract import Store
from puntual.store.requests import Page, PlanView, QueueEdit, RunFilter, ScheduleWrite, Selection, TickFilter
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    SECOND,
    cursor_at,
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
    writing,
)

NIGHTLY = Selection(names=("nightly",))


class _Watcher:
    """A ``decide`` that keeps what it was shown and writes nothing."""

    def __init__(self) -> None:
        self.views: list[PlanView] = []
        self.now = 0

    def __call__(self, views: Sequence[PlanView], _pause: Pause | None, now: int) -> list[ScheduleWrite]:
        self.views += views
        self.now = now
        return []


async def _selected(store: Store, select: Selection, *, now: int = NOW) -> list[PlanView]:
    watcher = _Watcher()
    await store.change_schedules(select, watcher, now=now)
    return sorted(watcher.views, key=lambda view: view.schedule.name)


class TestQueueLimits:
    """Limits that are set together with schedules."""

    async def test_limits_are_set_with_the_schedules_and_pauses_left_alone(self, store: Store) -> None:
        """A manifest says how many, an operator whether."""
        await store.put_queue(QueueEdit(name="mail", paused=True, pause_reason="holiday", concurrency=1))
        watcher = _Watcher()
        await store.change_schedules(Selection(names=()), watcher, limits={"mail": 5, "other": None}, now=NOW)
        queues = {queue.name: queue for queue in (await store.snapshot(now=NOW)).queues}
        assert (queues["mail"].concurrency, queues["mail"].paused, queues["mail"].pause_reason) == (5, True, "holiday")
        assert queues["other"].concurrency is None

    async def test_limits_are_not_set_when_the_schedules_are_refused(self, store: Store) -> None:
        """All or nothing."""
        with pytest.raises(ZeroDivisionError):
            await store.change_schedules(NIGHTLY, failing, limits={"mail": 5}, now=NOW)
        assert "mail" not in {queue.name for queue in (await store.snapshot(now=NOW)).queues}


class TestChangeSchedules:
    """Creating, editing and removing."""

    async def test_a_schedule_is_created_as_it_was_written(self, store: Store) -> None:
        """Everything of it comes back, by name and in the list."""
        spec = ScheduleSpec(
            name="nightly ñ",
            timetable='{"zone":"America/Bogota"}',
            source={"when": "every day at 02:00", "except": [1, "a"]},
            target=Target("http", '{"url":"https://example.com"}'),
            owner="billing",
            overlap=Overlap.BUFFER_ONE,
            misfire_policy=MisfirePolicy.FIRE_ALL,
            misfire_grace_us=MINUTE,
            retry=RetryPolicy(max_attempts=2, backoff=Backoff.LINEAR, on=("5xx",), not_on=("429",)),
            timeout_us=None,
            spread_us=SECOND,
            jitter_us=2 * SECOND,
            queue="nightly",
            priority=Priority.HIGH,
            unique_key="k",
            tags=("a", "b"),
            description="what it is",
            warnings=("w",),
            defaulted=("timezone",),
        )
        made = schedule(spec.name, spec=spec, pause=Pause(since=NOW, until=NOW + MINUTE, reason="r"))
        await put(store, made)
        assert msgspec.structs.replace(await named(store, spec.name), last=None) == made
        assert [found.name for found in await store.list_schedules()] == [spec.name]

    async def test_what_was_written_is_answered(self, store: Store) -> None:
        """The answer holds the schedules as they stand now."""
        write = ScheduleWrite(name="nightly", schedule=schedule())
        (answer,) = await store.change_schedules(NIGHTLY, writing(write), now=NOW)
        assert answer == await named(store, "nightly")

    async def test_an_unknown_schedule_is_none(self, store: Store) -> None:
        """There is nothing under that name."""
        assert await store.get_schedule("nightly") is None

    async def test_an_edit_replaces_the_row(self, store: Store) -> None:
        """Same id, the new revision and the new spec; one row."""
        await put(store, schedule())
        spec = msgspec.structs.replace(schedule().spec, description="new")
        await put(store, schedule(revision=2, spec=spec, updated_at=NOW + 1), now=NOW + 1)
        found = await named(store, "nightly")
        assert (found.id, found.revision, found.spec.description) == (schedule().id, 2, "new")
        assert len(await store.list_schedules()) == 1

    async def test_a_name_that_is_taken_is_a_conflict(self, store: Store) -> None:
        """Another schedule cannot take a live one's name, and the first stays."""
        await put(store, schedule())
        with pytest.raises(ConflictError):
            await put(store, schedule(id=uid(77)))
        assert (await named(store, "nightly")).id == schedule().id

    async def test_several_are_written_together_or_not_at_all(self, store: Store) -> None:
        """One conflict, and nothing of the call is written."""
        await put(store, schedule("b"))
        with pytest.raises(ConflictError):
            await put(store, schedule("a"), schedule("b", id=uid(77)), schedule("c"))
        assert [found.name for found in await store.list_schedules()] == ["b"]

    async def test_a_decide_that_raises_leaves_nothing(self, store: Store) -> None:
        """The error comes through."""
        with pytest.raises(ZeroDivisionError):
            await store.change_schedules(NIGHTLY, failing, now=NOW)
        assert await store.list_schedules() == []

    async def test_a_removed_schedule_is_gone_and_its_runs_go_on(self, store: Store) -> None:
        """Runs in flight are kept, and end as any."""
        owner = await hand_out(store, schedule(), 1)
        await store.change_schedules(NIGHTLY, writing(ScheduleWrite(name="nightly")), now=NOW)
        assert await store.get_schedule("nightly") is None
        assert (await fetch(store, tick_run(owner, 1).id)).state is RunState.PENDING
        await join(store)
        assert len(await take(store, now=tick(1))) == 1

    async def test_the_open_stretch_of_a_removed_schedule_is_kept(self, store: Store) -> None:
        """Its ticks were passed over, and are told as long as ticks are."""
        passed = Stretch(1, tick(1), tick(3), 3, at_least=False, fate=Fate.MISSED, reason=FateReason.DOWN)
        await put(store, schedule(cursor=cursor_at(3, stretch=passed)))
        await store.change_schedules(NIGHTLY, writing(ScheduleWrite(name="nightly")), now=NOW)
        (row,) = (await store.list_ticks(TickFilter(schedule="nightly"), Page())).items
        assert (row.number, row.count, row.fate) == (1, 3, Fate.MISSED)

    async def test_a_name_added_again_is_another_schedule(self, store: Store) -> None:
        """It has its own id and revision, and its ticks' runs do not meet those of the first."""
        old = await hand_out(store, schedule(), 1)
        await store.change_schedules(NIGHTLY, writing(ScheduleWrite(name="nightly")), now=NOW)
        new = await hand_out(store, schedule(id=uid(77)), 1)
        assert (new.id, new.cursor.last_number) == (uid(77), 1)
        assert tick_run(old, 1).id != tick_run(new, 1).id
        assert len((await store.list_runs(RunFilter(), Page())).items) == 2


class TestSelections:
    """Which schedules a change is shown."""

    async def test_by_name(self, store: Store) -> None:
        """Those that are there, and no others."""
        await put(store, schedule("a"), schedule("b"), schedule("c"))
        assert _names(await _selected(store, Selection(names=("a", "c", "x")))) == ["a", "c"]

    async def test_by_tag_owner_and_all(self, store: Store) -> None:
        """A tag is matched whole."""
        await put(store, _with("a", tags=("x", "y")), _with("b", owner="o", tags=("xy",)), _with("c", owner="p"))
        assert _names(await _selected(store, Selection(tag="x"))) == ["a"]
        assert _names(await _selected(store, Selection(owner="o"))) == ["b"]
        assert _names(await _selected(store, Selection(everything=True))) == ["a", "b", "c"]

    async def test_no_names_select_nothing(self, store: Store) -> None:
        """An empty tuple is not the same as all."""
        await put(store, schedule("a"))
        assert await _selected(store, Selection(names=())) == []

    async def test_lists_by_owner_and_tag(self, store: Store) -> None:
        """Sorted by name; tags and owner choose."""
        await put(store, _with("c", owner="o", tags=("x",)), _with("a", owner="o"), _with("b", tags=("x",)))
        assert [found.name for found in await store.list_schedules()] == ["a", "b", "c"]
        assert [found.name for found in await store.list_schedules(owner="o")] == ["a", "c"]
        assert [found.name for found in await store.list_schedules(tags=("x",))] == ["b", "c"]

    async def test_several_are_read_by_name(self, store: Store) -> None:
        """Each once; what is not there is left out."""
        await put(store, *(schedule(name) for name in "abc"))
        found = await store.get_schedules(("c", "a", "x", "a"))
        assert sorted(one.name for one in found) == ["a", "c"]
        assert await store.get_schedules(()) == []

    async def test_pages_go_on_after_a_name(self, store: Store) -> None:
        """``after`` is the last name seen."""
        await put(store, *(schedule(name) for name in "edcba"))
        assert [found.name for found in await store.list_schedules(page=Page(limit=2))] == ["a", "b"]
        assert [found.name for found in await store.list_schedules(page=Page(limit=2, after="b"))] == ["c", "d"]


class TestWithdraw:
    """Taking back what was planned ahead."""

    async def test_runs_planned_ahead_are_shown(self, store: Store) -> None:
        """Pending, never claimed, not due: as number, tick and id."""
        owner = await hand_out(store, schedule(), 3)
        (view,) = await _selected(store, NIGHTLY, now=tick(1))
        assert sorted(view.withdrawable) == [(at, tick(at), tick_run(owner, at).id) for at in (2, 3)]

    async def test_the_tick_behind_them_is_shown(self, store: Store) -> None:
        """The last one that cannot be taken back, wherever it is: live, over, passed over, or in the open stretch."""
        owner = await hand_out(store, schedule(), 3)
        await join(store)
        (view,) = await _selected(store, NIGHTLY, now=tick(1))
        assert view.behind == tick(1)
        (run,) = await take(store, ahead_us=MINUTE, limit=1)
        await end(store, run, OutcomeKind.SUCCEEDED)
        (view,) = await _selected(store, NIGHTLY, now=tick(1))
        assert view.behind == tick(1)
        passed = Stretch(2, tick(2), tick(2), 1, at_least=False, fate=Fate.SKIPPED)
        await put(store, msgspec.structs.replace(owner, cursor=cursor_at(3, look_at=NOW, stretch=passed)))
        (view,) = await _selected(store, NIGHTLY, now=tick(1))
        assert view.behind == tick(2)

    async def test_what_is_withdrawn_never_was(self, store: Store) -> None:
        """Its row is gone, and the tick may be planned anew."""
        owner = await hand_out(store, schedule(), 2)
        id = tick_run(owner, 2).id
        edited = msgspec.structs.replace(owner, revision=2, cursor=cursor_at(1, look_at=NOW))
        write = ScheduleWrite(name="nightly", schedule=edited, withdraw=(id,))
        await store.change_schedules(NIGHTLY, writing(write), now=NOW)
        assert await store.get_run(id) is None
        again = await hand_out(store, edited, 2)
        assert (await fetch(store, id)).state is RunState.PENDING
        assert again.cursor.last_number == 2

    async def test_a_due_run_is_past_recall(self, store: Store) -> None:
        """What is due is owed."""
        owner = await hand_out(store, schedule(), 1)
        await _withdraw(store, owner, 1, now=tick(1))
        assert (await fetch(store, tick_run(owner, 1).id)).state is RunState.PENDING

    async def test_a_claimed_run_is_past_recall(self, store: Store) -> None:
        """What a worker holds goes on."""
        owner = await hand_out(store, schedule(), 1)
        await join(store)
        await take(store, ahead_us=MINUTE)
        await _withdraw(store, owner, 1, now=NOW)
        assert (await fetch(store, tick_run(owner, 1).id)).state is RunState.RUNNING

    async def test_a_charged_run_is_past_recall(self, store: Store) -> None:
        """What was tried already is owed, though its due time may lie ahead."""
        owner = await hand_out(store, schedule(), 1)
        await join(store)
        (run,) = await take(store, ahead_us=MINUTE)
        await end(store, run, OutcomeKind.FAILED)
        (view,) = await _selected(store, NIGHTLY)
        assert view.withdrawable == ()
        await _withdraw(store, owner, 1, now=NOW)
        assert (await fetch(store, run.id)).attempt == 1

    async def test_a_released_run_is_past_recall(self, store: Store) -> None:
        """Planned anew it would have the same id, and give out the number of that claim a second time."""
        owner = await hand_out(store, schedule(), 1)
        await join(store)
        (run,) = await take(store, ahead_us=MINUTE)
        await end(store, run, OutcomeKind.SNOOZED)
        (view,) = await _selected(store, NIGHTLY)
        assert view.withdrawable == ()
        await _withdraw(store, owner, 1, now=NOW)
        assert (await fetch(store, run.id)).attempt == 1

    async def test_an_ended_run_stays(self, store: Store) -> None:
        """History is not taken back."""
        owner = await hand_out(store, schedule(), 1)
        await store.cancel([tick_run(owner, 1).id], now=NOW)
        await _withdraw(store, owner, 1, now=NOW)
        assert (await fetch(store, tick_run(owner, 1).id)).state is RunState.CANCELLED


class TestScheduleByHand:
    """Trigger, backfill, and what the old rule owes."""

    async def test_runs_made_by_hand_are_inserted(self, store: Store) -> None:
        """They belong to the schedule and are its live runs."""
        await put(store, schedule())
        by_hand = new_run(1, origin=Origin.TRIGGER, schedule="nightly", schedule_id=schedule().id)
        write = ScheduleWrite(name="nightly", schedule=schedule(), insert=(by_hand,))
        await store.change_schedules(NIGHTLY, writing(write), now=NOW)
        assert (await fetch(store, uid(1))).due_at == NOW
        (view,) = await _selected(store, NIGHTLY)
        assert view.live == (uid(1),)

    async def test_a_run_by_hand_that_is_over_is_not_made_again(self, store: Store) -> None:
        """A repeat of a trigger may come late, under an id of the caller's own."""
        await put(store, schedule())
        by_hand = new_run(1, origin=Origin.TRIGGER, schedule="nightly", schedule_id=schedule().id)
        write = ScheduleWrite(name="nightly", schedule=schedule(), insert=(by_hand,))
        await store.change_schedules(NIGHTLY, writing(write), now=NOW)
        await store.cancel([uid(1)], now=NOW)
        await store.change_schedules(NIGHTLY, writing(write), now=NOW)
        assert (await fetch(store, uid(1))).state is RunState.CANCELLED
        (view,) = await _selected(store, NIGHTLY)
        assert view.live == ()

    async def test_what_the_old_rule_owes_is_planned_with_the_edit(self, store: Store) -> None:
        """Its runs are inserted, and the new row is what stands."""
        owner = schedule()
        await put(store, owner)
        edited = msgspec.structs.replace(owner, revision=2, cursor=cursor_at(1, look_at=tick(5)))
        write = ScheduleWrite(name="nightly", schedule=edited, plan=plan_to(owner, 1))
        await store.change_schedules(NIGHTLY, writing(write), now=tick(1))
        assert (await fetch(store, tick_run(owner, 1).id)).state is RunState.PENDING
        found = await named(store, "nightly")
        assert (found.revision, found.cursor.look_at) == (2, tick(5))

    async def test_a_cancel_asked_with_a_change_reaches_the_run(self, store: Store) -> None:
        """Trigger under cancel_other asks the live run to stop."""
        owner = await hand_out(store, schedule(), 1)
        await join(store)
        (run,) = await take(store, now=tick(1))
        write = ScheduleWrite(name="nightly", schedule=owner, cancel=(run.id,))
        await store.change_schedules(NIGHTLY, writing(write), now=tick(1))
        assert (await fetch(store, run.id)).cancel_requested


def _names(views: list[PlanView]) -> list[str]:
    return [view.schedule.name for view in views]


def _with(name: str, **changes: object) -> Schedule:
    return schedule(name, spec=msgspec.structs.replace(schedule(name).spec, **changes))


async def _withdraw(store: Store, owner: Schedule, number: int, *, now: int) -> None:
    write = ScheduleWrite(name=owner.name, schedule=owner, withdraw=(tick_run(owner, number).id,))
    await store.change_schedules(NIGHTLY, writing(write), now=now)
