"""A failing seed is made small and told in words: what has to be there for it to break, and what happens then."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from puntual.model.schedule import ScheduleSpec
from puntual.simulate.clocks import SimClock
from puntual.simulate.database import Database
from puntual.simulate.excerpt import excerpt
from puntual.simulate.order import Small, Tried
from puntual.simulate.scenario import Act, Machine, Scenario, Strike
from puntual.simulate.shrink import kind_of, shrink
from puntual.simulate.simulation import Result, simulate
from puntual.timing.describe import describe
from puntual.timing.rule import Timetable

MakeDatabase = Callable[[SimClock], Database]


class Failed(NamedTuple):
    """A scenario that broke a promise, how it did, and on what."""

    scenario: Scenario
    result: Result
    database: MakeDatabase


def made_small(failed: Failed, budget: int, say: Callable[[Tried], None]) -> Small:
    """The smallest scenario that was found to break as that one did.

    Args:
        failed: the seed's own.
        budget: how often others may be lived through.
        say: told how often that was done so far.
    """
    best, problem, tries = failed.result, failed.result.problems[0], 0
    kind = kind_of(problem)

    def breaks(candidate: Scenario) -> bool:
        nonlocal best, problem, tries
        tries += 1
        say(Tried(tries))
        result = simulate(candidate, failed.database)
        alike = [one for one in result.problems if kind_of(one) == kind]
        if alike:
            best, problem = result, alike[0]
        return bool(alike)

    left = shrink(failed.scenario, problem.at, breaks, budget=budget)
    return Small(
        seed=left.seed,
        tries=tries,
        promise=problem.promise,
        at=problem.at,
        what=problem.what,
        nodes=[_node(slot, machine) for slot, machine in enumerate(left.machines)],
        schedules=[_schedule(spec) for spec in left.schedules],
        acts=[_act(act) for act in left.acts],
        faults=[_fault(strike) for strike in left.strikes],
        story=excerpt(best.lines, problem),
    )


def _node(slot: int, machine: Machine) -> str:
    only = [f"only {', '.join(names)}" for names in (machine.queues, machine.tasks) if names is not None]
    return ", ".join([f"n{slot}: {' and '.join(machine.roles)}", f"{machine.concurrency} at a time", *only])


def _schedule(spec: ScheduleSpec) -> str:
    rule = describe(msgspec.json.decode(spec.timetable, type=Timetable))
    return f"{spec.name}: {rule}, {spec.target.task}, overlap {spec.overlap}, misfire {spec.misfire_policy}"


def _act(act: Act) -> str:
    return f"{act.at:10.3f}  {act.verb}"


def _fault(strike: Strike) -> str:
    who = "users" if strike.slot < 0 else f"n{strike.slot}"
    words = (f"{strike.at:10.3f}", f"{who:<5}", f"{strike.kind}", strike.operation, f"{strike.seconds:.1f} s")
    return "  ".join(word for word in words if word)
