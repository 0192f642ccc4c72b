"""One seed, from its first instant to its rest: what happened, and which promises did not hold."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable

import msgspec

from puntual.simulate.clocks import SimClock
from puntual.simulate.database import Database, SqliteDatabase
from puntual.simulate.process import Fleet
from puntual.simulate.promises.rest import check_rest, live_runs
from puntual.simulate.promises.ticks import check_ticks
from puntual.simulate.record import Line, Problem, told
from puntual.simulate.scenario import Scenario
from puntual.simulate.strikes import Striker
from puntual.simulate.users import Users
from puntual.simulate.world import World

#: In so long the healed world has to come to rest, seconds.
_REST = 3600.0
_LOOK = 5.0
#: Nothing is under way for longer, seconds.
_PENDING = 300.0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one seed gave."""

    seed: int
    problems: list[Problem]
    trace: str
    strikes: Counter[str]
    visits: Counter[str]
    operations: int
    lines: list[Line]

    @property
    def story(self) -> list[str]:
        """What happened, a line each."""
        return told(self.lines)


def simulate(scenario: Scenario, make_database: Callable[[SimClock], Database] = SqliteDatabase) -> Result:
    """Lives a scenario through and holds it to the promises."""
    collects = gc.isenabled()
    gc.disable()  # What dead processes leave behind is looked through when all is over, not in the middle.
    world = World(scenario, make_database)
    try:
        world.loop.run_until_complete(_live(world))
    except Exception as error:  # noqa: BLE001 - it is a finding
        world.record.broken("engine", repr(error))
    finally:
        world.loop.close()
        if collects:
            gc.enable()
    record = world.record
    for trouble in world.loop.troubles:
        record.broken("engine", trouble)
    return Result(
        seed=scenario.seed,
        problems=record.problems,
        trace=record.trace(),
        strikes=record.strikes,
        visits=record.visits,
        operations=record.operations,
        lines=record.lines,
    )


async def _live(world: World) -> None:
    scenario = world.scenario
    await world.database.open()
    try:
        fleet = Fleet(world)
        users = Users(world, fleet)
        striker = Striker(world, fleet, users)
        fleet.start()
        await users.found(scenario.schedules)
        users.begin(scenario.acts)
        striker.begin(scenario.strikes)
        await asyncio.sleep(scenario.seconds - world.loop.time())
        striker.heal()
        await _see_it_through(world)
        striker.heal()
        await users.heal()
        await _come_to_rest(world)
        check_rest(world.database, world.watch, world.record)
        check_ticks(world)
    finally:
        await world.database.close()


async def _see_it_through(world: World) -> None:
    """Waits for what was begun before the healing, and would undo it."""
    until = world.loop.time() + _PENDING
    while world.pending and world.loop.time() < until:  # noqa: ASYNC110 - as below
        await asyncio.sleep(1.0)


async def _come_to_rest(world: World) -> None:
    """Waits until no run is live, or for as long as that may take."""
    until = world.loop.time() + _REST
    while world.loop.time() < until and live_runs(world.database):  # noqa: ASYNC110 - rest announces itself to nobody
        await asyncio.sleep(_LOOK)
