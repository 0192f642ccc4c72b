from __future__ import annotations

import msgspec
import pytest

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.engine.plan import plan
from puntual.model.errors import ConflictError
from puntual.model.policy import OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import NewRun, Origin, Priority
from puntual.model.schedule import Fate, FateReason, Overlap, Pause, Schedule, ScheduleSpec, Target
from puntual.store.requests import PlanView, ScheduleWrite
from tests.support.plans import SECOND, START, created, every


def planned(spec: ScheduleSpec, seconds: float) -> PlanView:
    """A schedule planned at that many seconds, with its run ahead still pending."""
    schedule = created(spec)
    write = plan(PlanView(schedule=schedule), None, START + int(seconds * SECOND))
    ahead = tuple((run.tick_number or 0, run.tick_at or 0, run.id) for run in write.runs)
    return PlanView(
        schedule=msgspec.structs.replace(schedule, cursor=write.cursor),
        live=tuple(run.id for run in write.runs),
        withdrawable=ahead,
    )


def at(seconds: float) -> Moment:
    """That many seconds after the start."""
    return Moment(now=START + int(seconds * SECOND))


def standing(write: ScheduleWrite | None) -> Schedule:
    """The schedule that a write leaves."""
    assert write is not None
    assert write.schedule is not None
    return write.schedule


def test_a_new_schedule_owes_nothing_from_before_it_existed() -> None:
    """Its first tick is the first one that is due after now, spread included."""
    spec = every(60, spread_us=50 * SECOND)
    write = edit.create(spec, "id", Moment(now=START + 61 * SECOND))
    cursor = standing(write).cursor
    assert cursor.next_due_at is not None
    assert START + 61 * SECOND < cursor.next_due_at <= START + 121 * SECOND + 50 * SECOND


def test_an_edit_takes_back_the_run_planned_ahead() -> None:
    """The tick planned under the old rule is withdrawn, and its number is used again."""
    view = planned(every(60), 56)
    write = edit.change(view, every(90), at(57))
    assert write is not None
    assert write.withdraw == view.live
    cursor = standing(write).cursor
    assert (cursor.last_number, cursor.next_tick_at) == (0, START + 90 * SECOND)
    assert standing(write).revision == 2


def test_an_edit_cannot_take_back_a_run_that_was_claimed_ahead() -> None:
    """Its tick has been handed out: the new rule goes on behind it."""
    view = msgspec.structs.replace(planned(every(60), 56), withdrawable=())
    write = edit.change(view, every(30), at(57))
    assert write is not None
    assert write.withdraw == ()
    assert standing(write).cursor.next_tick_at == START + 90 * SECOND


def test_a_faster_rule_begins_at_once_though_a_run_was_taken_back() -> None:
    """No tick of the new rule is left out between the edit and the instant of the run that was withdrawn."""
    write = edit.change(planned(every(60), 56), every(1), at(57))
    assert write is not None
    assert len(write.withdraw) == 1
    assert standing(write).cursor.next_tick_at == START + 58 * SECOND


def test_a_new_rule_begins_behind_what_an_older_one_has_handed_out() -> None:
    """A tick that an earlier edit could not take back is not given out again by the rule after the next."""
    view = msgspec.structs.replace(planned(every(61), 57), behind=START + 60 * SECOND)
    write = edit.change(view, every(1), at(58))
    assert write is not None
    assert standing(write).cursor.next_tick_at == START + 61 * SECOND


def test_an_edit_leaves_the_run_of_a_tick_that_came_due_where_it_was_moved() -> None:
    """Somebody moved the run to later; its tick has had its time, and stays in the record."""
    view = planned(every(60), 56)
    for write in (edit.change(view, every(90), at(61)), edit.remove(view, at(61)), edit.remove(view, at(60))):
        assert write is not None
        assert write.withdraw == ()
    assert standing(edit.change(view, every(90), at(61))).cursor.last_number == 1


def test_an_edit_first_plans_what_the_old_rule_owes() -> None:
    """A tick that came due and was not planned yet is run under the old rule."""
    view = PlanView(schedule=created(every(60)))
    write = edit.change(view, every(90), at(61))
    assert write is not None
    assert write.plan is not None
    assert [run.tick_at for run in write.plan.runs] == [START + 60 * SECOND]


def test_an_edit_leaves_no_waiting_tick_undecided() -> None:
    """A tick that waits behind a live run when its rule ends is skipped, not forgotten."""
    view = msgspec.structs.replace(planned(every(60, overlap=Overlap.BUFFER_ALL), 56), withdrawable=())
    write = edit.change(view, every(90), at(130))
    assert write is not None
    cursor = standing(write).cursor
    assert cursor.stretch is not None
    assert (cursor.stretch.fate, cursor.stretch.reason, cursor.last_number) == (Fate.SKIPPED, FateReason.OVERLAP, 2)


def test_a_change_that_changes_nothing_writes_nothing() -> None:
    """Applying the same manifest again leaves the revision alone."""
    assert edit.change(planned(every(60), 56), every(60), at(57)) is None


def test_an_edit_after_a_pause_is_looked_at_by_its_next_tick() -> None:
    """A pause that is over puts nothing to sleep, and no look into the past, below what planners remember."""
    over = Pause(since=START + 10 * SECOND, until=START + 20 * SECOND)
    paused = standing(edit.pause(planned(every(60), 10), over, at(10)))
    schedule = standing(edit.change(PlanView(schedule=paused), every(90), at(300)))
    assert schedule.cursor.next_due_at == START + 360 * SECOND
    assert schedule.cursor.look_at == START + 355 * SECOND


def test_a_pause_made_by_hand_survives_an_edit_that_says_nothing_of_it() -> None:
    """Only ``paused:`` in the manifest changes it."""
    view = planned(every(60), 10)
    paused = standing(edit.pause(view, Pause(since=START + 10 * SECOND), at(10)))
    view = PlanView(schedule=paused)
    assert standing(edit.change(view, every(90), at(20))).pause is not None
    assert standing(edit.change(view, every(90), at(20), paused=False)).pause is None


def test_pausing_takes_back_what_was_planned_ahead_and_sleeps_until_its_end() -> None:
    """A paused schedule is looked at when the pause ends."""
    view = planned(every(60), 56)
    write = edit.pause(view, Pause(since=START + 57 * SECOND, until=START + 600 * SECOND), at(57))
    assert write.withdraw == view.live
    assert standing(write).cursor.look_at == START + 600 * SECOND


def test_resuming_does_not_flood() -> None:
    """What came due under the pause is skipped; the next tick is the first one after now."""
    paused = standing(edit.pause(planned(every(60), 10), Pause(since=START + 10 * SECOND), at(10)))
    write = edit.resume(PlanView(schedule=paused), at(3_630))
    schedule = standing(write)
    assert write is not None
    assert write.plan is not None
    assert write.plan.runs == ()
    assert schedule.pause is None
    assert schedule.cursor.next_tick_at == START + 3_660 * SECOND
    assert schedule.cursor.stretch is not None
    assert (schedule.cursor.stretch.count, schedule.cursor.stretch.reason) == (60, FateReason.PAUSED)


def test_resuming_what_had_gone_on_by_itself_skips_nothing() -> None:
    """The pause was over: what came due after it and still waits for a live run was under no pause."""
    spec = every(1, overlap=Overlap.BUFFER_ALL)
    schedule = msgspec.structs.replace(created(spec), pause=Pause(since=START, until=START + 10 * SECOND))
    view = PlanView(schedule=schedule, live=("a",))
    write = plan(view, None, START + 12 * SECOND)
    view = msgspec.structs.replace(view, schedule=msgspec.structs.replace(schedule, cursor=write.cursor))
    resumed = edit.resume(view, at(13))
    assert resumed is not None
    assert resumed.plan is not None
    stretches = [*resumed.plan.stretches, standing(resumed).cursor.stretch]
    assert [(one.reason, one.count) for one in stretches if one is not None] == [
        (FateReason.PAUSED, 10),
        (FateReason.OVERLAP, 3),
    ]


def test_removing_takes_the_runs_planned_ahead_along() -> None:
    """Nothing of a removed schedule starts after it is gone."""
    view = planned(every(60), 56)
    write = edit.remove(view, at(57))
    assert (write.schedule, write.withdraw) == (None, view.live)


def test_trigger_follows_the_overlap_policy_unless_told_otherwise() -> None:
    """With a live run it is refused and names the run; allow_all starts another beside it."""
    view = planned(every(60), 56)
    with pytest.raises(ConflictError, match=view.live[0]):
        edit.trigger(view, "new", at(57))
    write = edit.trigger(view, "new", at(57), overlap=Overlap.ALLOW_ALL, args='{"a":1}')
    assert write is not None
    (run,) = write.insert
    assert (run.id, run.args, run.origin) == ("new", '{"a":1}', "trigger")


def test_a_trigger_carries_every_option_of_the_schedule() -> None:
    """Lane, priority, retries, timeout, key, tags, and what it does without a lease; arguments may be others."""
    spec = every(
        60,
        target=Target("t", '{"a":1}'),
        queue="nightly",
        priority=Priority.LOW,
        retry=RetryPolicy(max_attempts=7),
        timeout_us=5 * SECOND,
        on_lost_lease=OnLostLease.CANCEL,
        unique_key="one",
        tags=("a", "b"),
    )
    view = PlanView(schedule=created(spec))
    for args, wanted in ((None, '{"a":1}'), ('{"a":2}', '{"a":2}')):
        write = edit.trigger(view, "new", at(57), args=args)
        assert write is not None
        (run,) = write.insert
        assert run == NewRun(
            id="new",
            task="t",
            args=wanted,
            queue="nightly",
            priority=Priority.LOW,
            origin=Origin.TRIGGER,
            schedule_id=view.schedule.id,
            schedule="job",
            due_at=START + 57 * SECOND,
            max_attempts=7,
            policy=RunPolicy(
                retry=RetryPolicy(max_attempts=7), timeout_us=5 * SECOND, on_lost_lease=OnLostLease.CANCEL
            ),
            unique_key="one",
            tags=("a", "b"),
        )


def test_trigger_under_cancel_other_asks_the_live_run_to_stop_first() -> None:
    """Nothing is inserted beside it: the caller comes again once it has ended."""
    view = planned(every(60, overlap=Overlap.CANCEL_OTHER), 56)
    write = edit.trigger(view, "new", at(57))
    assert write is not None
    assert (write.cancel, write.insert) == (view.live, ())
    made = edit.trigger(msgspec.structs.replace(view, live=()), "new", at(58))
    assert made is not None
    assert [run.id for run in made.insert] == ["new"]


def test_a_trigger_that_is_repeated_leaves_its_own_run_alone() -> None:
    """The answer was lost, the run was made: it is neither in its own way nor cancelled for itself."""
    view = planned(every(60, overlap=Overlap.CANCEL_OTHER), 56)
    assert edit.trigger(view, view.live[0], at(57)) is None


def test_trigger_never_goes_around_a_unique_key() -> None:
    """Whatever the overlap policy, the holder of the key is named and nothing is started."""
    view = planned(every(60, overlap=Overlap.ALLOW_ALL, unique_key="k"), 56)
    with pytest.raises(ConflictError, match=view.live[0]):
        edit.trigger(view, "new", at(57))


def test_a_schedule_that_cannot_be_planned_can_still_be_replaced_paused_and_removed() -> None:
    """Its rule is unreadable here; that must not lock it in."""
    view = planned(every(60), 10)
    broken = msgspec.structs.replace(view.schedule.spec, timetable='{"rule":{"type":"every"}}')
    view = PlanView(schedule=msgspec.structs.replace(view.schedule, spec=broken))
    mended = standing(edit.change(view, every(90), at(20)))
    assert (mended.cursor.trouble, mended.cursor.next_tick_at) == (None, START + 90 * SECOND)
    asleep = standing(edit.pause(view, Pause(since=START + 20 * SECOND), at(20)))
    assert asleep.cursor.trouble is not None
    assert edit.resume(PlanView(schedule=asleep), at(30)) is not None
    assert edit.remove(view, at(20)).schedule is None
