"""Builders for schedules in memory, and a planner's view of them."""

from __future__ import annotations

import msgspec

from puntual.engine.edit import Moment, create
from puntual.engine.plan import HORIZON_US, plan
from puntual.model.schedule import Cursor, Fate, Schedule, ScheduleSpec, Stretch, Target
from puntual.store.requests import PlanView, PlanWrite
from puntual.timing.rule import Blackout, Closures, IntervalRule, Timetable

SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z


def every(seconds: int, **policies: object) -> ScheduleSpec:
    """A spec that ticks on the grid of START."""
    timetable = Timetable(rule=IntervalRule(period_us=seconds * SECOND, anchor=START))
    spec = ScheduleSpec(
        name="job",
        timetable=msgspec.json.encode(timetable).decode(),
        source={"every": f"{seconds}s"},
        target=Target("t"),
    )
    return msgspec.structs.replace(spec, **policies)


def shut(spec: ScheduleSpec, every_us: int, for_us: int) -> ScheduleSpec:
    """The spec with a blackout that begins on a grid of START."""
    timetable = msgspec.json.decode(spec.timetable, type=Timetable)
    blackout = Blackout(rule=IntervalRule(period_us=every_us, anchor=START), for_us=for_us)
    closed = msgspec.structs.replace(timetable, closures=Closures(blackouts=(blackout,)))
    return msgspec.structs.replace(spec, timetable=msgspec.json.encode(closed).decode())


def created(spec: ScheduleSpec, now: int = START) -> Schedule:
    """The schedule as it is first written."""
    schedule = create(spec, "id", Moment(now=now)).schedule
    assert schedule is not None
    return schedule


class History:
    """A schedule that is planned again and again, and all that came of it."""

    def __init__(self, spec: ScheduleSpec, now: int = START) -> None:
        self.schedule = created(spec, now)
        self.live: tuple[str, ...] = ()
        self.ran: list[tuple[int, int]] = []
        self.closed: list[Stretch] = []
        self.last: PlanWrite | None = None

    def look(self, seconds: float, horizon_us: int = HORIZON_US) -> PlanWrite:
        """Plans at that many seconds after START."""
        view = PlanView(schedule=self.schedule, live=self.live)
        write = plan(view, None, START + int(seconds * SECOND), horizon_us)
        self.schedule = msgspec.structs.replace(self.schedule, cursor=write.cursor)
        self.ran += [(run.tick_number or 0, run.tick_at or 0) for run in write.runs]
        self.live += tuple(run.id for run in write.runs)
        self.closed += write.stretches
        self.last = write
        return write

    @property
    def cursor(self) -> Cursor:
        """How far it has come."""
        return self.schedule.cursor

    def stretches(self) -> list[Stretch]:
        """The closed ones and the open one."""
        return [*self.closed, *([self.cursor.stretch] if self.cursor.stretch else [])]

    def fates(self) -> dict[int, Fate]:
        """What became of each tick number."""
        fates = dict.fromkeys((number for number, _ in self.ran), Fate.RAN)
        for stretch in self.stretches():
            for number in range(stretch.number, stretch.number + stretch.count):
                assert number not in fates, f"tick {number} has two fates"
                fates[number] = stretch.fate
        return fates
