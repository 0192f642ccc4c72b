from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.engine.plan import plan
from puntual.model.instant import SECOND
from puntual.model.run import NewRun
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
    Tick,
)
from puntual.simulate.clocks import START
from puntual.simulate.draw import scenario
from puntual.simulate.promises.grid import Grid
from puntual.simulate.promises.history import Edited, ScheduleHistory
from puntual.simulate.promises.ticks import wrong_ticks
from puntual.store.requests import PlanView, ScheduleWrite
from puntual.timing import rule as rules
from puntual.timing.rule import IntervalRule, Timetable

ID = "0123456789abcdef"


def every(seconds: int, **policies: object) -> ScheduleSpec:
    """A spec that ticks on the grid of the simulation's beginning."""
    rule = IntervalRule(period_us=seconds * SECOND, anchor=START)
    made = ScheduleSpec(
        name="s", timetable=msgspec.json.encode(Timetable(rule=rule)).decode(), source={}, target=Target("quick")
    )
    return msgspec.structs.replace(made, **policies)


class Lived:
    """A schedule as the engine moves it on, with the record and the history that come of it."""

    def __init__(self, spec: ScheduleSpec, at: float = 0.5) -> None:
        self.history = ScheduleHistory()
        self.ticks: list[Tick] = []
        self.live: tuple[str, ...] = ()
        self.pause_all: Pause | None = None
        self.schedule: Schedule | None = None
        self.edit(at, edit.create(spec, ID, self.moment(at)))
        self.created = self.view.schedule

    def moment(self, at: float) -> Moment:
        """That many seconds after the beginning."""
        return Moment(now=instant(at), paused_all=self.pause_all)

    @property
    def view(self) -> PlanView:
        """What a planner is shown."""
        assert self.schedule is not None
        return PlanView(schedule=self.schedule, live=self.live)

    def look(self, *at: float, live: tuple[str, ...] = ()) -> None:
        """Planners look at these instants."""
        self.live = live
        for seconds in at:
            write = plan(self.view, self.pause_all, instant(seconds))
            self.history.looked(instant(seconds), [write])
            self._planned(write.runs, write.stretches)
            self.schedule = msgspec.structs.replace(self.view.schedule, cursor=write.cursor)

    def edit(self, at: float, write: ScheduleWrite | None) -> None:
        """Somebody edits it."""
        assert write is not None
        self.history.wrote(instant(at), [write])
        if write.plan is not None:
            self._planned(write.plan.runs, write.plan.stretches)
        self.schedule = write.schedule

    def _planned(self, runs: Sequence[NewRun], stretches: Sequence[Stretch]) -> None:
        for run in runs:
            number, tick = run.tick_number or 0, run.tick_at or 0
            self.ticks.append(Tick(schedule="s", number=number, tick_at=tick, last_tick_at=tick, run_id=run.id))
        self.ticks += map(row, stretches)

    def wrong(self, *, busy: bool = False) -> list[str]:
        """What the check says."""
        open_ = [] if self.schedule is None or self.schedule.cursor.stretch is None else [self.schedule.cursor.stretch]
        return list(wrong_ticks(self.history.past(), [*self.ticks, *map(row, open_)], {"s"} if busy else ()))


def instant(at: float) -> int:
    """That many seconds after the beginning."""
    return START + int(at * SECOND)


def row(stretch: Stretch) -> Tick:
    """A stretch as the record shows it."""
    given = {name: getattr(stretch, name) for name in Stretch.__struct_fields__}
    return Tick(schedule="s", **given)


def lived(**policies: object) -> Lived:
    """Ten seconds of a tick a second that all ran."""
    found = Lived(every(1, overlap=Overlap.ALLOW_ALL, **policies))
    found.look(*range(1, 11))
    return found


def test_what_the_engine_does_holds() -> None:
    """Runs ahead, an outage, a pause, an edit and a removal: nothing is wrong, and what follows is about lies."""
    one = lived(misfire_policy=MisfirePolicy.FIRE_ONCE)
    one.look(40, 41)
    one.edit(41.5, edit.pause(one.view, Pause(since=instant(41.5)), one.moment(41.5)))
    one.edit(60, edit.resume(one.view, one.moment(60)))
    one.look(60.5)
    one.edit(61, edit.change(one.view, every(7, spread_us=3 * SECOND, jitter_us=2 * SECOND), one.moment(61)))
    one.look(*range(62, 100))
    one.edit(100, edit.remove(one.view, one.moment(100)))
    assert one.wrong() == []
    assert {tick.fate for tick in one.ticks} == {Fate.RAN, Fate.COALESCED, Fate.SKIPPED}


@pytest.mark.parametrize("place", [0, 5, 14])
def test_a_hole_is_seen(place: int) -> None:
    """A tick that is not in the record, with its number or without."""
    one = lived()
    del one.ticks[place]
    assert len(one.wrong()) == 1


def test_a_tick_that_was_never_numbered_is_seen() -> None:
    """The numbers have no hole, and the instants have."""
    one = lived()
    gone = one.ticks.pop(5)
    one.ticks[5:] = [msgspec.structs.replace(tick, number=tick.number - 1) for tick in one.ticks[5:]]
    assert gone.tick_at == instant(6)
    assert one.wrong() == ["s: the tick 6.000 s is not in the record, which has 7.000 s as number 6"]


def test_a_double_is_seen() -> None:
    """A tick that ran is also in a stretch."""
    one = lived()
    one.ticks.append(row(Stretch(5, instant(5), instant(5), 1, at_least=False, fate=Fate.MISSED)))
    assert "number 5 of another" in one.wrong()[0]


def test_a_foreign_run_is_seen() -> None:
    """The run of a tick has the id that whoever plans it gives it."""
    one = lived()
    one.ticks[5] = msgspec.structs.replace(one.ticks[5], run_id=one.ticks[6].run_id)
    assert one.wrong() == [f"s: {one.ticks[6].run_id} is not the run of the tick 6.000 s"]


@pytest.mark.parametrize(
    ("fate", "reason", "why"),
    [
        (Fate.MISSED, FateReason.DOWN, "not late"),
        (Fate.COALESCED, None, "not late"),
        (Fate.SKIPPED, FateReason.OVERLAP, "lets runs overlap"),
        (Fate.SKIPPED, FateReason.PAUSED, "no pause"),
    ],
)
def test_a_wrong_fate_is_seen(fate: Fate, reason: FateReason | None, why: str) -> None:
    """Planners looked, nothing was paused and runs may overlap: the tick had to run."""
    one = lived()
    one.ticks[5] = msgspec.structs.replace(one.ticks[5], fate=fate, reason=reason, run_id=None)
    (wrong,) = one.wrong()
    assert why in wrong


@pytest.mark.parametrize(
    ("policies", "why"),
    [
        ({"misfire_policy": MisfirePolicy.SKIP}, "its policy skips such ticks"),
        ({"misfire_policy": MisfirePolicy.FIRE_ALL, "misfire_grace_us": 10 * SECOND}, "beyond its grace"),
        ({"misfire_policy": MisfirePolicy.FIRE_ONCE}, "was not the latest"),
    ],
)
def test_a_late_run_against_its_policy_is_seen(policies: dict[str, object], why: str) -> None:
    """What was planned late is held to the policy of its schedule, whatever the engine thought that this was."""
    one = lived(misfire_policy=MisfirePolicy.FIRE_ALL)
    one.look(40)
    schedule = msgspec.structs.replace(one.created, spec=msgspec.structs.replace(one.created.spec, **policies))
    asked = Edited(instant(0.5), [ScheduleWrite(name="s", schedule=schedule)])
    one.history = ScheduleHistory([asked, *one.history.events[1:]])
    (wrong,) = one.wrong()
    assert why in wrong


def test_a_run_under_a_pause_is_seen() -> None:
    """A tick that came due while everything was paused makes no run once that is over."""
    one = lived()
    pause = Pause(since=instant(12), until=instant(30))
    one.history.paused_all(instant(12), msgspec.structs.replace(pause, until=None))
    one.history.paused_all(instant(30), pause)
    one.look(31)
    (wrong,) = one.wrong()
    assert "under a pause" in wrong
    kept = lived()
    kept.history.paused_all(instant(12), msgspec.structs.replace(pause, until=None))
    kept.history.paused_all(instant(30), pause)
    kept.pause_all = pause
    kept.look(31)
    assert kept.wrong() == []


def test_a_tick_that_planners_left_is_seen() -> None:
    """Whoever looks decides what is due, unless it waits for a live run."""
    one = Lived(every(1, overlap=Overlap.BUFFER_ALL))
    one.look(2, 3, 4, live=("a",))
    assert one.wrong(busy=True) == []
    assert one.wrong() == ["s: the tick 1.000 s, due before the last look at 4.000 s, is not in the record"]


def test_a_failover_sets_the_history_back() -> None:
    """What is planned again after a lost tail is held to the same ids and counted once."""
    one = lived()
    kept, schedule, ticks = one.history.copy(), one.schedule, list(one.ticks)
    one.look(11, 12)
    lost = {tick.run_id for tick in one.ticks} - {tick.run_id for tick in ticks}
    one.history, one.schedule, one.ticks = kept, schedule, ticks
    one.look(13)
    assert lost < {tick.run_id for tick in one.ticks}
    assert one.wrong() == []


def test_the_slow_grid_is_that_of_the_rules() -> None:
    """Of every rule that scenarios draw: the ticks of an hour are those that planners would find."""
    for seed in range(60):
        for spec in scenario(seed).schedules:
            compiled = rules.compile(msgspec.json.decode(spec.timetable, type=Timetable))
            slow = list(Grid(spec).between(START + 1, instant(3600)))
            assert slow == compiled.between(START, instant(3600), 5000)
