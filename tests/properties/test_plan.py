from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from puntual.engine.walk import LATE_US
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap, ScheduleSpec
from puntual.timing.rule import IntervalRule, Timetable
from tests.support.plans import MINUTE, SECOND, START, History, every, shut

PERIODS = st.sampled_from([1, 2, 3, 7, 30, 90])
LOOKS = st.lists(st.tuples(st.integers(1, 400), st.booleans()), min_size=1, max_size=40)


def period_of(spec: ScheduleSpec) -> int:
    """Microseconds between its ticks."""
    rule = msgspec.json.decode(spec.timetable, type=Timetable).rule
    assert isinstance(rule, IntervalRule)
    return rule.period_us


SPECS = st.builds(
    lambda period, overlap, misfire, grace, moved: every(
        period,
        overlap=overlap,
        misfire_policy=misfire,
        misfire_grace_us=None if grace is None else grace * SECOND,
        spread_us=moved[0] * SECOND,
        jitter_us=moved[1] * SECOND,
    ),
    PERIODS,
    st.sampled_from(Overlap),
    st.sampled_from(MisfirePolicy),
    st.sampled_from([None, 0, 20, 600]),
    st.sampled_from([(0, 0), (5, 0), (0, 4), (11, 9)]),
)


@settings(max_examples=1000, deadline=None)
@given(spec=SPECS, looks=LOOKS)
def test_every_tick_up_to_the_cursor_has_exactly_one_fate(spec: ScheduleSpec, looks: list[tuple[int, bool]]) -> None:
    """Whenever planners look, and whatever is live: no tick is lost, none has two fates, numbers have no hole."""
    period = period_of(spec)
    history = History(spec)
    first = history.cursor.next_tick_at
    now = 0
    for pause, ended in looks:
        now += pause
        if ended:
            history.live = ()
        for _ in range(1_000):
            if history.look(now).cursor.look_at != START + now * SECOND:
                break
    fates = history.fates()
    assert sorted(fates) == list(range(1, history.cursor.last_number + 1))
    assert first is not None
    handled = (history.cursor.last_tick_at - first) // (period) + 1 if fates else 0
    assert handled == len(fates)
    assert [number for number, _ in history.ran] == sorted({number for number, _ in history.ran})
    assert all(tick == first + (number - 1) * period for number, tick in history.ran)


@settings(max_examples=200, deadline=None)
@given(period=PERIODS, overlap=st.sampled_from(Overlap), misfire=st.sampled_from(MisfirePolicy), looks=LOOKS)
def test_nothing_stays_undecided_long_after_its_instant(
    period: int, overlap: Overlap, misfire: MisfirePolicy, looks: list[tuple[int, bool]]
) -> None:
    """After a look nothing older than the threshold is undecided, unless it waits for a live run or the next round."""
    history = History(every(period, overlap=overlap, misfire_policy=misfire))
    now = 0
    for pause, ended in looks:
        now += pause
        if ended:
            history.live = ()
        write = history.look(now)
        waits = write.cursor.seen_at is not None or write.cursor.look_at == START + now * SECOND
        assert write.cursor.next_due_at is not None
        assert waits or write.cursor.next_due_at >= START + now * SECOND - LATE_US


@settings(max_examples=500, deadline=None)
@given(spec=SPECS, looks=LOOKS, every_minutes=st.integers(1, 5), closed_seconds=st.integers(1, 290))
def test_what_is_closed_makes_no_run_and_says_why(
    spec: ScheduleSpec, looks: list[tuple[int, bool]], every_minutes: int, closed_seconds: int
) -> None:
    """Ticks within blackouts are skipped for that reason, whatever else would become of them; no others are."""
    history = History(shut(spec, every_minutes * MINUTE, closed_seconds * SECOND))
    first, period = history.cursor.next_tick_at, period_of(spec)
    assert first is not None
    now = 0
    for pause, ended in looks:
        now += pause
        if ended:
            history.live = ()
        for _ in range(1_000):
            if history.look(now).cursor.look_at != START + now * SECOND:
                break
    fates = history.fates()
    assert sorted(fates) == list(range(1, history.cursor.last_number + 1))
    blacked = {
        number
        for stretch in history.stretches()
        if stretch.reason is FateReason.BLACKOUT
        for number in range(stretch.number, stretch.number + stretch.count)
    }
    for number, fate in fates.items():
        within = (first + (number - 1) * period - START) % (every_minutes * MINUTE) < closed_seconds * SECOND
        assert (number in blacked) == within
        assert fate is Fate.SKIPPED or not within
