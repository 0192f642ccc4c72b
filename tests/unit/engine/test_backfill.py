"""Which ticks of the past become runs: none that ran, none that is still to run, none at a closed time."""

from __future__ import annotations

import msgspec
import pytest

from puntual.engine.backfill import MOST_TICKS, Lane, Sieve, Span, check_span, run_of_tick
from puntual.model.errors import InvalidError
from puntual.model.ids import backfill_run_id, tick_run_id
from puntual.model.policy import OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import Origin, Priority
from puntual.model.schedule import Cursor, Fate, FateReason, Pause, Schedule, ScheduleSpec, Tick
from puntual.timing.calendar import CalendarDays
from puntual.timing.rule import Blackout, Closures, IntervalRule, Timetable
from tests.support.plans import SECOND, START, created, every

MINUTE = 60 * SECOND
NOW = START + 100 * MINUTE


def minute(number: int) -> int:
    """The tick of that minute."""
    return START + number * MINUTE


def row(first: int, last: int, fate: Fate, reason: FateReason | None = None) -> Tick:
    """A row of the record, from one minute to another."""
    return Tick(
        schedule="job",
        number=first,
        tick_at=minute(first),
        last_tick_at=minute(last),
        count=last - first + 1,
        fate=fate,
        reason=reason,
    )


def standing(spec: ScheduleSpec | None = None, **cursor: int | None) -> Schedule:
    """A schedule of every minute whose planner has come as far as now."""
    schedule = created(spec or every(60))
    place = Cursor(**{"last_tick_at": NOW, "next_tick_at": NOW + MINUTE, **cursor})  # type: ignore[arg-type]  # of ints
    return msgspec.structs.replace(schedule, cursor=place)


def reasons(sieve: Sieve, *numbers: int) -> list[str | None]:
    """Why each of these minutes is left alone."""
    return [sieve.reason(minute(number)) for number in numbers]


def test_what_ran_is_left_alone_also_within_a_stretch() -> None:
    """A single tick with its run and one of a thousand in a folded row are alike."""
    sieve = Sieve(standing(), [row(10, 40, Fate.RAN), row(50, 50, Fate.RAN)], [], NOW)
    assert reasons(sieve, 9, 10, 25, 40, 41, 49, 50, 51) == [None, "ran", "ran", "ran", None, None, "ran", None]


def test_stretches_that_overlap_or_touch_are_one() -> None:
    """Ticks of an earlier schedule of the name lie among those of this one."""
    rows = [row(30, 45, Fate.RAN), row(10, 40, Fate.RAN), row(12, 13, Fate.RAN), row(46, 46, Fate.RAN)]
    sieve = Sieve(standing(), rows, [], NOW)
    assert reasons(sieve, 9, 10, 13, 14, 45, 46, 47) == [None, "ran", "ran", "ran", "ran", "ran", None]


@pytest.mark.parametrize("fate", [Fate.MISSED, Fate.SKIPPED, Fate.COALESCED])
def test_what_made_no_run_becomes_one(fate: Fate) -> None:
    """Missed, skipped and coalesced ticks are what a backfill is for."""
    assert reasons(Sieve(standing(), [row(10, 40, fate)], [], NOW), 10, 40) == [None, None]


def test_a_tick_whose_run_is_pending_is_left_to_it() -> None:
    """It will run by itself."""
    assert reasons(Sieve(standing(), [row(99, 99, Fate.PLANNED)], [], NOW), 98, 99) == [None, "planned"]


def test_what_nobody_has_decided_yet_is_left_to_the_planner() -> None:
    """A tick that waits for a live run, or for a planner to come up again, may still run."""
    sieve = Sieve(standing(next_tick_at=minute(90)), [], [], NOW)
    assert reasons(sieve, 89, 90, 99) == [None, "planned", "planned"]


def test_what_came_due_under_a_pause_will_not_run_by_itself() -> None:
    """The cursor stands where the pause began; what it covers is skipped, whenever that is written down."""
    schedule = standing(next_tick_at=minute(81))
    open_end = Sieve(schedule, [], [Pause(since=minute(80))], NOW)
    assert reasons(open_end, 80, 81, 99) == [None, None, None]
    over = Sieve(schedule, [], [Pause(since=minute(80), until=minute(90))], NOW)
    assert reasons(over, 81, 90, 91) == [None, None, "planned"]


def test_a_pause_covers_a_tick_by_its_due_time() -> None:
    """One that is due under the pause, spread and all, lies under it, though its instant does not."""
    spec = every(60, spread_us=30 * SECOND)
    sieve = Sieve(standing(spec, next_tick_at=minute(80)), [], [Pause(since=minute(80))], NOW)
    assert reasons(sieve, 80, 81) == [None, None]


def test_closed_ticks_are_left_alone() -> None:
    """A day that the calendar closes, and a blackout, each by its name."""
    closures = Closures(
        exclude=("holidays",),
        calendars=(CalendarDays(name="holidays", version=1, dates=(START // (86_400 * SECOND) - 1,)),),
        blackouts=(Blackout(rule=IntervalRule(period_us=60 * MINUTE, anchor=START), for_us=5 * MINUTE),),
    )
    timetable = Timetable(rule=IntervalRule(period_us=MINUTE, anchor=START), closures=closures)
    spec = every(60, timetable=msgspec.json.encode(timetable).decode())
    sieve = Sieve(standing(spec), [row(2, 2, Fate.RAN)], [], NOW)
    assert reasons(sieve, -1, 0, 2, 4, 5) == ["calendar", "blackout", "ran", "blackout", None]


def test_a_run_carries_every_option_of_its_schedule() -> None:
    """Lane, priority, retries, timeout, key, tags and what it does without a lease; and the tick that it is for."""
    spec = every(
        60,
        queue="nightly",
        priority=Priority.LOW,
        retry=RetryPolicy(max_attempts=7),
        timeout_us=5 * SECOND,
        on_lost_lease=OnLostLease.CANCEL,
        unique_key="one",
        tags=("a", "b"),
    )
    run = run_of_tick(standing(spec), minute(5), Lane(), NOW)
    assert (run.origin, run.tick_at, run.tick_number, run.due_at) == (Origin.BACKFILL, minute(5), None, NOW)
    assert (run.task, run.args, run.schedule, run.schedule_id) == ("t", "{}", "job", None)
    assert (run.queue, run.priority, run.max_attempts) == ("nightly", Priority.LOW, 7)
    assert (run.unique_key, run.tags) == ("one", ("a", "b"))
    assert run.policy == RunPolicy(
        retry=RetryPolicy(max_attempts=7), timeout_us=5 * SECOND, on_lost_lease=OnLostLease.CANCEL
    )


def test_a_run_waits_in_another_lane_where_that_is_said() -> None:
    """So that a year of them does not stand before what is due now."""
    run = run_of_tick(standing(), minute(5), Lane(queue="past", priority=Priority.LOW), NOW)
    assert (run.queue, run.priority) == ("past", Priority.LOW)


def test_the_id_is_of_schedule_and_tick_and_not_that_of_the_tick() -> None:
    """A repeat meets its own run, and never the run that the tick itself may have had."""
    schedule = standing()
    ids = {run_of_tick(schedule, minute(number), Lane(), NOW + number).id for number in (5, 5, 6)}
    assert ids == {backfill_run_id(schedule.id, minute(5)), backfill_run_id(schedule.id, minute(6))}
    assert tick_run_id(schedule.id, minute(5)) not in ids


@pytest.mark.parametrize(
    ("since", "until", "field", "says"),
    [
        (NOW + 1, NOW + 2, "since", "still to come"),
        (NOW - 10, NOW + 1, "until", "still to come"),
        (NOW, NOW, "since", "not before until"),
        (NOW, NOW - 10, "since", "not before until"),
        (START - MOST_TICKS * MINUTE, START + 1, "since", "more than 100,000 ticks"),
    ],
)
def test_a_span_that_cannot_be_covered_is_refused(since: int, until: int, field: str, says: str) -> None:
    """The sentence names the bound that is wrong."""
    with pytest.raises(InvalidError, match=says) as raised:
        check_span(every(60), Span(since, until), NOW)
    assert raised.value.field == field


def test_a_span_holds_its_first_instant_and_not_its_last() -> None:
    """As every other pair of since and until; exactly 100,000 ticks are taken."""
    assert check_span(every(60), Span(minute(0), minute(3)), NOW) == 3
    assert check_span(every(60), Span(minute(0), minute(3) + 1), NOW) == 4
    assert check_span(every(60), Span(START - MOST_TICKS * MINUTE, START), NOW) == MOST_TICKS


def test_a_unique_key_lets_only_one_tick_be_made_up_for() -> None:
    """Of several runs all but one would meet its holder."""
    spec = every(60, unique_key="one")
    assert check_span(spec, Span(minute(1), minute(2)), NOW) == 1
    with pytest.raises(InvalidError, match="unique key"):
        check_span(spec, Span(minute(1), minute(3)), NOW)
