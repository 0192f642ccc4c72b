"""What overlap and misfire policies promise, against plain accounts of it that know neither cursors nor stretches."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.engine.plan import plan
from puntual.engine.walk import LATE_US
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap, Pause, Stretch
from puntual.store.requests import PlanView
from tests.support.plans import SECOND, START, History, every

#: How long a run goes on once it is asked to stop: at once, a while, or as if it had not heard.
REACTIONS = st.sampled_from([0, 4, 10_000])
DURATIONS = st.lists(st.integers(0, 45), min_size=1, max_size=30)


class Engine(History):
    """A planner that looks each second, and runs that last as long as they are told to."""

    def __init__(self, period: int, overlap: Overlap, durations: Sequence[int], reaction: int) -> None:
        super().__init__(every(period, overlap=overlap))
        self._durations = durations
        self._reaction = reaction
        self._ends: dict[str, int] = {}
        #: For each tick that ran: when it began, and when it ended.
        self.times: dict[int, tuple[int, int]] = {}
        self._ticks: dict[str, int] = {}

    def second(self, now: int) -> None:
        """What ends, ends; then the planner looks, as often as it wants to."""
        for run_id in [run_id for run_id, end in self._ends.items() if end <= now]:
            tick = self._ticks[run_id]
            self.times[tick] = (self.times[tick][0], self._ends.pop(run_id))
            self.live = tuple(other for other in self.live if other != run_id)
        while True:
            write = self.look(now)
            for run in write.runs:
                tick = ((run.tick_at or 0) - START) // SECOND
                begin = max(now, tick)
                self._ticks[run.id] = tick
                self._ends[run.id] = begin + self._durations[len(self.times) % len(self._durations)]
                self.times[tick] = (begin, -1)
            for run_id in write.cancel:
                self._ends[run_id] = min(self._ends[run_id], now + self._reaction)
            ended = any(end <= now for end in self._ends.values())
            if ended or write.cursor.look_at != START + now * SECOND:
                break
        if ended:
            self.second(now)


def account(period: int, overlap: Overlap, durations: Sequence[int], reaction: int, until: int) -> dict[int, int]:
    """When each tick that runs begins: one tick after the other, each by its policy."""
    begins: dict[int, int] = {}
    ends = 0
    skipped_until = -1
    for tick in range(period, until + 1, period):
        if overlap is Overlap.ALLOW_ALL:
            begins[tick] = tick
            continue
        if tick < ends and overlap is Overlap.CANCEL_OTHER:
            # A tick that waits already when a run begins has it asked at the next look.
            begun = max(begins.values())
            ends = min(ends, (tick if tick > begun else begun + 1) + reaction)
        waits = tick < ends
        if tick <= skipped_until or (waits and overlap is Overlap.SKIP):
            continue
        begins[tick] = max(tick, ends)
        if waits and overlap is Overlap.BUFFER_ONE:
            skipped_until = ends
        ends = begins[tick] + durations[(len(begins) - 1) % len(durations)]
    return {tick: begin for tick, begin in begins.items() if begin <= until}


@settings(max_examples=400, deadline=None)
@given(
    period=st.sampled_from([1, 3, 5, 7, 20, 60]),
    overlap=st.sampled_from([each for each in Overlap if each is not Overlap.ALLOW_ALL]),
    durations=DURATIONS,
    reaction=REACTIONS,
)
def test_each_tick_begins_when_its_overlap_policy_says(
    period: int, overlap: Overlap, durations: list[int], reaction: int
) -> None:
    """Whatever the runs last, and whether they hear that they shall stop: never two at once, and none forgotten."""
    engine, until = Engine(period, overlap, durations, reaction), 12 * max(period, 20)
    for now in range(until + 1):
        engine.second(now)
    begun = {tick: begin for tick, (begin, _) in engine.times.items() if begin <= until}
    assert begun == account(period, overlap, durations, reaction, until)


@settings(max_examples=400, deadline=None)
@given(
    period=st.sampled_from([1, 7, 60, 3_600]),
    misfire=st.sampled_from(MisfirePolicy),
    grace=st.sampled_from([None, 0, 5, 6, 90, 4_000]),
    outage=st.integers(0, 9_000),
)
def test_late_ticks_become_what_the_misfire_policy_says(
    period: int, misfire: MisfirePolicy, grace: int | None, outage: int
) -> None:
    """Each tick, told from its lateness alone: those within the threshold run, late ones by policy and grace."""
    history = History(
        every(
            period,
            overlap=Overlap.ALLOW_ALL,
            misfire_policy=misfire,
            misfire_grace_us=None if grace is None else grace * SECOND,
        )
    )
    # A thousand a round, and none is late by more than these.
    for _ in range(10):
        history.look(outage, 0)
    ticks = range(period, outage + 1, period)
    threshold = LATE_US // SECOND
    # What is late by just the threshold is late where something else is later.
    late = [tick for tick in ticks if outage - tick >= threshold] if outage - period > threshold else []
    wanted: dict[int, tuple[Fate, FateReason | None]] = dict.fromkeys(ticks, (Fate.RAN, None))
    for tick in late:
        too_late = grace is not None and outage - tick > grace
        if misfire is MisfirePolicy.SKIP:
            wanted[tick] = (Fate.MISSED, FateReason.DOWN)
        elif misfire is MisfirePolicy.FIRE_ALL and too_late:
            wanted[tick] = (Fate.MISSED, FateReason.GRACE)
        elif misfire is MisfirePolicy.FIRE_ONCE:
            out = grace is not None and outage - late[-1] > grace
            wanted[tick] = (Fate.MISSED, FateReason.GRACE) if out else (Fate.COALESCED, None)
    if late and wanted[late[-1]] == (Fate.COALESCED, None):
        wanted[late[-1]] = (Fate.RAN, None)
    assert told(history.ran, history.stretches(), period) == wanted


def told(
    ran: Sequence[tuple[int, int]], stretches: Sequence[Stretch], period: int
) -> dict[int, tuple[Fate, FateReason | None]]:
    """The fate of each tick, by its second."""
    found: dict[int, tuple[Fate, FateReason | None]] = {(tick - START) // SECOND: (Fate.RAN, None) for _, tick in ran}
    for one in stretches:
        for tick in range((one.tick_at - START) // SECOND, (one.last_tick_at - START) // SECOND + 1, period):
            assert tick not in found
            found[tick] = (one.fate, one.reason)
    return found


@settings(max_examples=400, deadline=None)
@given(
    period=st.sampled_from([1, 7, 60]),
    overlap=st.sampled_from(Overlap),
    misfire=st.sampled_from(MisfirePolicy),
    how=st.tuples(st.booleans(), st.booleans()),
    times=st.tuples(st.integers(1, 90), st.integers(0, 900), st.integers(1, 90)),
)
def test_what_came_due_under_a_pause_never_runs(
    period: int, overlap: Overlap, misfire: MisfirePolicy, how: tuple[bool, bool], times: tuple[int, int, int]
) -> None:
    """Whichever pause, whether it is resumed or ends by itself, and whether anybody looked meanwhile: no flood."""
    (everything, looked), (before, length, later) = how, times
    history = History(every(period, overlap=overlap, misfire_policy=misfire))
    for second in range(before + 1):
        history.look(second)
        history.live = ()
    handed = len(history.ran)
    since, until = START + before * SECOND, START + (before + length) * SECOND
    pause = Pause(since=since, until=until)
    if not everything:
        view = PlanView(schedule=history.schedule)
        write = edit.pause(view, pause, Moment(now=since))
        assert write.schedule is not None
        history.schedule = write.schedule
    for second in (before + length // 2, before + length) if looked else ():
        look_under(history, pause if everything else None, second)
    for second in range(before + length, before + length + later + 1):
        look_under(history, pause if everything else None, second)
    assert not [tick for _, tick in history.ran[handed:] if since < tick <= until], "a tick under the pause made a run"


def look_under(history: History, paused_all: Pause | None, second: int) -> None:
    """One look, with the pause of everything; nothing stays live."""
    view = PlanView(schedule=history.schedule)
    write = plan(view, paused_all, START + second * SECOND)
    history.schedule = msgspec.structs.replace(history.schedule, cursor=write.cursor)
    history.ran += [(run.tick_number or 0, run.tick_at or 0) for run in write.runs]
    history.closed += write.stretches
