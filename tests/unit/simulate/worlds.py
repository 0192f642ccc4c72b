"""Small worlds for tests: a minute long, with one schedule whose runs take a while, and nothing that strikes."""

from __future__ import annotations

import msgspec

from puntual.model.instant import SECOND
from puntual.model.schedule import Overlap, Target
from puntual.simulate.clocks import START
from puntual.simulate.draw import scenario
from puntual.simulate.scenario import Machine, Scenario, Strike
from puntual.timing.rule import IntervalRule, Timetable

MACHINE = Machine(roles=("scheduler", "worker"), concurrency=5, rate=1.0, offset_us=0)


def quiet(seed: int = 1, *, machines: int = 2, strikes: tuple[Strike, ...] = ()) -> Scenario:
    """A world of so many nodes."""
    drawn = scenario(seed)
    every_second = Timetable(rule=IntervalRule(period_us=SECOND, anchor=START))
    schedule = msgspec.structs.replace(
        drawn.schedules[0],
        name="s",
        timetable=msgspec.json.encode(every_second).decode(),
        target=Target("slow"),
        overlap=Overlap.ALLOW_ALL,
        unique_key=None,
    )
    return msgspec.structs.replace(
        drawn,
        seconds=60.0,
        lease=4.0,
        machines=(MACHINE,) * machines,
        schedules=(schedule,),
        acts=(),
        strikes=strikes,
    )
