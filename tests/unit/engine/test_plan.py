from __future__ import annotations

import msgspec

from puntual.engine import planner
from puntual.engine.due import due
from puntual.engine.plan import plan
from puntual.engine.walk import LATE_US
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap, Pause
from puntual.store.requests import PlanView
from tests.support.plans import SECOND, START, History, created, every


def test_a_tick_becomes_a_run_within_the_horizon_and_no_earlier() -> None:
    """A planner that looks too soon plans nothing and is told when to look again."""
    history = History(every(60))
    assert history.look(10).runs == ()
    assert history.cursor.look_at == START + 55 * SECOND
    (run,) = history.look(55).runs
    assert (run.tick_at, run.due_at, run.tick_number) == (START + 60 * SECOND, START + 60 * SECOND, 1)


def test_the_run_of_a_tick_has_the_same_id_whoever_plans_it() -> None:
    """A tick planned twice meets its own row."""
    one, other = History(every(60)), History(every(60))
    assert one.look(55).runs[0].id == other.look(57).runs[0].id


def test_a_tick_is_decided_at_its_own_instant_while_a_run_is_live() -> None:
    """Ahead of time nothing is planned over a live run; the planner is sent to the instant itself."""
    history = History(every(60))
    history.look(55)
    assert history.look(115).runs == ()
    assert history.cursor.look_at == START + 120 * SECOND
    history.look(120)
    assert history.fates() == {1: Fate.RAN, 2: Fate.SKIPPED}
    (stretch,) = history.stretches()
    assert stretch.reason is FateReason.OVERLAP


def test_allow_all_plans_ahead_over_live_runs() -> None:
    """With allow_all a live run is no reason to wait."""
    history = History(every(2, overlap=Overlap.ALLOW_ALL))
    history.look(0)
    assert [tick for _, tick in history.ran] == [START + 2 * SECOND, START + 4 * SECOND]


def test_a_period_shorter_than_the_horizon_never_overlaps_itself() -> None:
    """Under skip only one tick is handed out at a time, although several lie within the horizon."""
    history = History(every(1))
    assert len(history.look(0).runs) == 1
    assert history.cursor.look_at == START + 2 * SECOND


def test_a_buffered_tick_waits_and_runs_when_nothing_is_live() -> None:
    """buffer_all leaves the cursor where it is and keeps each tick, one after another."""
    history = History(every(10, overlap=Overlap.BUFFER_ALL))
    history.look(5)
    assert history.look(20).runs == ()
    assert history.cursor.next_tick_at == START + 20 * SECOND
    assert history.cursor.look_at == START + 21 * SECOND
    for second in range(21, 42):
        history.look(second)
    history.live = ()
    assert [run.tick_number for run in history.look(42).runs] == [2]
    history.live = ()
    assert [run.tick_number for run in history.look(43).runs] == [3]
    assert set(history.fates().values()) == {Fate.RAN}


def test_a_tick_that_waits_for_hours_is_no_misfire() -> None:
    """A tick first looked at on its instant is buffered, however long, under a policy that skips misfires."""
    history = History(every(3600, overlap=Overlap.BUFFER_ALL, misfire_policy=MisfirePolicy.SKIP))
    history.look(3596)
    for second in range(7200, 10_000, 100):
        history.look(second)
    history.live = ()
    assert [run.tick_number for run in history.look(10_000).runs] == [2]


def test_buffer_one_keeps_the_first_waiting_tick_and_skips_the_later_ones() -> None:
    """One tick waits; those behind it are skipped as overlapping."""
    history = History(every(10, overlap=Overlap.BUFFER_ONE))
    history.look(5)
    for second in range(20, 46):
        history.look(second)
    history.live = ()
    history.look(46)
    assert history.fates() == {1: Fate.RAN, 2: Fate.RAN, 3: Fate.SKIPPED, 4: Fate.SKIPPED}


def test_cancel_other_asks_the_live_run_to_stop_and_waits() -> None:
    """The waiting tick runs once the other is gone, never beside it."""
    history = History(every(10, overlap=Overlap.CANCEL_OTHER))
    (first,) = history.look(5).runs
    assert history.look(20).cancel == (first.id,)
    history.live = ()
    assert [run.tick_number for run in history.look(20.5).runs] == [2]


def test_fire_once_runs_the_latest_late_tick_and_coalesces_the_others() -> None:
    """After an outage one run carries the latest tick; each passed tick has its fate."""
    history = History(every(60))
    history.look(605.5 + LATE_US / SECOND)
    assert history.ran == [(10, START + 600 * SECOND)]
    (stretch,) = history.closed
    assert (stretch.number, stretch.count, stretch.fate) == (1, 9, Fate.COALESCED)


def test_misfire_skip_runs_nothing_late() -> None:
    """All ticks of the outage are missed because nothing was up."""
    history = History(every(60, misfire_policy=MisfirePolicy.SKIP))
    history.look(650)
    (stretch,) = history.stretches()
    assert (stretch.count, stretch.fate, stretch.reason, history.ran) == (10, Fate.MISSED, FateReason.DOWN, [])


def test_a_tick_that_is_late_by_less_than_the_threshold_simply_runs() -> None:
    """A planner that is a few seconds behind is no misfire, even under misfire skip."""
    history = History(every(60, misfire_policy=MisfirePolicy.SKIP))
    assert len(history.look(63).runs) == 1


def test_grace_makes_old_ticks_missed() -> None:
    """fire_once does not run a tick that is later than the grace."""
    history = History(every(3600, misfire_grace_us=60 * SECOND))
    history.look(3600 + 120)
    (stretch,) = history.stretches()
    assert (stretch.fate, stretch.reason) == (Fate.MISSED, FateReason.GRACE)


def test_fire_all_hands_out_a_thousand_at_a_time() -> None:
    """The oldest come first, and the planner comes back at once for the rest."""
    history = History(every(1, misfire_policy=MisfirePolicy.FIRE_ALL, overlap=Overlap.ALLOW_ALL))
    assert len(history.look(2_500).runs) == 1_000
    assert history.cursor.look_at == START + 2_500 * SECOND
    history.look(2_500)
    history.look(2_500)
    assert [number for number, _ in history.ran] == list(range(1, 2_506))


def test_fire_all_stops_at_a_hundred_thousand() -> None:
    """What is beyond is missed, and counted."""
    history = History(every(1, misfire_policy=MisfirePolicy.FIRE_ALL, overlap=Overlap.ALLOW_ALL))
    rounds = 0
    while history.look(150_000).cursor.look_at == START + 150_000 * SECOND:
        rounds += 1
        history.live = ()
    assert rounds <= 102
    assert history.fates()[100_000] is Fate.RAN
    assert history.fates()[100_001] is Fate.MISSED


def test_ten_years_of_a_tick_per_second_are_one_decision() -> None:
    """The count is exact to 100,000 and then a lower bound; nothing is walked."""
    history = History(every(1))
    history.look(10 * 365 * 86_400)
    (coalesced,) = history.closed
    assert (coalesced.count, coalesced.at_least) == (100_000, True)
    assert len(history.ran) == 1


def test_a_paused_schedule_plans_nothing_and_skips_what_comes_due() -> None:
    """Ticks under a pause are skipped as paused; after it the next tick runs, without a flood."""
    history = History(every(60))
    history.schedule = msgspec.structs.replace(history.schedule, pause=Pause(since=START, until=START + 300 * SECOND))
    assert history.look(200).runs == ()
    assert history.cursor.look_at == START + 300 * SECOND
    history.look(301)
    (stretch,) = history.stretches()
    assert (stretch.count, stretch.reason) == (5, FateReason.PAUSED)
    assert history.ran == []


def test_ticks_under_the_pause_of_everything_are_skipped_not_missed() -> None:
    """The pause that is over tells the planner what to make of the ticks it covered."""
    schedule = created(every(60))
    over = Pause(since=START + SECOND, until=START + 299 * SECOND)
    write = plan(PlanView(schedule=schedule), over, START + 299 * SECOND)
    (stretch,) = write.stretches
    assert (stretch.count, stretch.reason) == (4, FateReason.PAUSED)
    assert [run.tick_at for run in write.runs] == [START + 300 * SECOND]


def test_spread_and_jitter_move_a_tick_later_and_never_change_its_identity() -> None:
    """The due time lies in [tick, tick + spread + jitter) and is the same each time."""
    spec = every(60, spread_us=30 * SECOND, jitter_us=10 * SECOND)
    for minute in range(50):
        tick = START + minute * 60 * SECOND
        assert tick <= due(spec, tick) < tick + 40 * SECOND
        assert due(spec, tick) == due(spec, tick)


def test_a_rule_that_has_no_next_tick_is_looked_at_no_more() -> None:
    """A schedule that is over costs nothing."""
    spec = every(60)
    once = msgspec.structs.replace(spec, timetable=f'{{"rule":{{"type":"once","instant":{START + 60 * SECOND}}}}}')
    history = History(once)
    history.look(57)
    assert (len(history.ran), history.cursor.look_at, history.cursor.next_tick_at) == (1, None, None)


def test_a_unique_key_is_stronger_than_allow_all() -> None:
    """While its holder lives, ticks are skipped instead of meeting it in the database."""
    history = History(every(2, overlap=Overlap.ALLOW_ALL, unique_key="k"))
    (run,) = history.look(0).runs
    assert run.unique_key == "k"
    history.look(4)
    assert history.fates() == {1: Fate.RAN, 2: Fate.SKIPPED}


def test_of_two_pauses_each_passes_over_what_came_due_under_it() -> None:
    """Whichever began first: nothing under the one is owed because the other began later."""
    one, other = (Pause(since=START + at * SECOND, until=START + (at + 10) * SECOND) for at in (10, 30))
    for own, of_all in ((one, other), (other, one)):
        schedule = msgspec.structs.replace(created(every(4, misfire_policy=MisfirePolicy.SKIP)), pause=own)
        write = plan(PlanView(schedule=schedule), of_all, START + 50 * SECOND, 0)
        found = [(stretch.reason, (stretch.last_tick_at - START) // SECOND) for stretch in write.stretches]
        assert found == [
            (FateReason.DOWN, 8),
            (FateReason.PAUSED, 20),
            (FateReason.DOWN, 28),
            (FateReason.PAUSED, 40),
            (FateReason.DOWN, 44),
        ]


def test_the_pause_of_everything_swallows_no_tick_that_was_owed_before_it() -> None:
    """After an outage, pausing and resuming everything leaves the misfire to its own policy."""
    history = History(every(3600))
    pause = Pause(since=START + 3 * 3600 * SECOND + 60 * SECOND, until=START + 5 * 3600 * SECOND + 60 * SECOND)
    write = plan(PlanView(schedule=history.schedule), pause, START + 5 * 3600 * SECOND + 61 * SECOND)
    assert [run.tick_number for run in write.runs] == [3]
    (coalesced,) = write.stretches
    assert (coalesced.count, coalesced.fate) == (2, Fate.COALESCED)
    paused = write.cursor.stretch
    assert paused is not None
    assert (paused.number, paused.count, paused.reason) == (4, 2, FateReason.PAUSED)


def test_jitter_keeps_the_order_of_the_ticks() -> None:
    """However much jitter is asked for, no tick is due after the next one, so that none is late on time."""
    history = History(every(60, jitter_us=600 * SECOND, misfire_policy=MisfirePolicy.SKIP, overlap=Overlap.ALLOW_ALL))
    for second in range(3600):
        history.look(second)
    assert set(history.fates().values()) == {Fate.RAN}
    assert len(history.ran) >= 58


def test_a_schedule_that_cannot_be_planned_is_set_back_and_holds_up_no_other() -> None:
    """Its cursor stays, it is looked at again later, and it says why."""
    good, bad = History(every(60)).schedule, created(every(60))
    broken = msgspec.structs.replace(
        bad.spec, timetable='{"rule":{"type":"cron","expr":"* * * * *","dialect":"unix"},"timezone":"Mars/Olympus"}'
    )
    bad = msgspec.structs.replace(bad, id="bad", spec=broken)
    now = START + 56 * SECOND
    writes = planner._decide([PlanView(schedule=bad), PlanView(schedule=good)], None, now)
    assert "Mars/Olympus" in (writes[0].cursor.trouble or "")
    assert (writes[0].runs, writes[0].cursor.next_tick_at) == ((), bad.cursor.next_tick_at)
    assert (writes[0].cursor.look_at or 0) > now
    assert len(writes[1].runs) == 1


def test_what_came_due_under_a_pause_is_skipped_to_the_tick_with_spread_and_jitter_too() -> None:
    """A tick whose own due time lies under the pause does not run after it, however large its spread may be."""
    for name in ("a", "b", "c", "d"):
        history = History(every(3600, name=name, spread_us=1800 * SECOND, jitter_us=600 * SECOND))
        tick = START + 3600 * SECOND
        over = Pause(since=START + SECOND, until=due(history.schedule.spec, tick) + SECOND)
        write = plan(PlanView(schedule=history.schedule), over, (over.until or 0) + SECOND)
        assert write.runs == ()
        assert (write.cursor.last_number, write.cursor.last_tick_at) == (1, tick)
