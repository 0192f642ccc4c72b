"""Strikes that only a database server can meet: drawn beside all others, from chance of their own, and carried out."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, cast

import msgspec

from puntual.model.ids import run_ids
from puntual.model.instant import DAY, SECOND
from puntual.model.run import NewRun, Priority
from puntual.simulate import draw
from puntual.simulate.database import OpenTransaction, Server
from puntual.simulate.scenario import Hit, Scenario, ServerBlow, Strike
from puntual.simulate.users import Users
from puntual.simulate.watch import Seen
from puntual.simulate.world import World

#: What writes runs.
_CUT_OFF: Final = ("claim", "claim", "settle", "settle", "plan", "rescue")
_ASKED: Final = ("enqueue", "change_schedules", "cancel", "replay")
_NIGHTS: Final = 0.2
#: A claim that has not committed keeps others waiting for its rows in real time: it is never open for long.
_CLAIM_OPEN: Final = 2.0
_LOOK: Final = 1.0


def on_server(drawn: Scenario) -> Scenario:
    """The same scenario on a database server, with what befalls only such a one, now and then over midnight."""
    random = Random(f"{drawn.seed}:server")  # noqa: S311 - a simulation has to be repeatable
    strikes = [_strike(random, drawn) for _ in range(random.randint(3, 8))]
    ahead = DAY - random.randrange(int(drawn.seconds)) * SECOND if random.random() < _NIGHTS else 0
    return msgspec.structs.replace(
        drawn,
        strikes=tuple(sorted((*filter(_can_be, drawn.strikes), *strikes), key=lambda strike: strike.at)),
        machines=tuple(
            msgspec.structs.replace(machine, offset_us=machine.offset_us + ahead) for machine in drawn.machines
        ),
        database_offset_us=drawn.database_offset_us + ahead,
    )


def _can_be(strike: Strike) -> bool:
    """Whoever enqueues says when it repeats; the first request, should it come last, was promised nothing."""
    return strike.kind is not Hit.LATE or strike.operation != "enqueue"


def _strike(random: Random, drawn: Scenario) -> Strike:
    kinds = {
        ServerBlow.CUT: 4,
        ServerBlow.LONG_WRITER: 4,
        ServerBlow.OPEN_CLAIM: 2,
        ServerBlow.NO_DAYS: 0.5,
        ServerBlow.NO_LANE: 1,
    }
    slot = random.randrange(-1, len(drawn.machines))
    return Strike(
        at=random.uniform(10, drawn.seconds),
        kind=random.choices(list(kinds), list(kinds.values()))[0],
        slot=slot,
        operation=random.choice(_ASKED if slot < 0 else _CUT_OFF),
        seconds=random.choice((0.3, 3.0, 12.0, 40.0)),
    )


class ServerStriker:
    """Carries out what only a server can meet."""

    def __init__(self, world: World, users: Users) -> None:
        self._world = world
        self._users = users
        self._blows: dict[ServerBlow, Callable[[Strike, Random], None]] = {
            ServerBlow.LONG_WRITER: self._write_long,
            ServerBlow.OPEN_CLAIM: self._claim,
            ServerBlow.NO_DAYS: self._lose_days,
            ServerBlow.NO_LANE: self._lose_lane,
        }

    @property
    def _database(self) -> Server:
        return cast("Server", self._world.database)

    def strike(self, strike: Strike) -> None:
        """Carries out one, unless nobody can reach the server just now."""
        if self._world.loop.time() >= self._world.away_until:
            kind = ServerBlow(strike.kind)
            self._world.record.struck(kind, "", f"{strike.seconds:.1f} s")
            self._blows[kind](strike, self._world.random(f"server:{strike.at}"))

    def _write_long(self, strike: Strike, random: Random) -> None:
        now = self._database.clock.now()
        task = draw.task(random)
        policy = self._world.scenario.policies[task]
        runs = [
            NewRun(
                id=run_id,
                task=task,
                queue=random.choice(draw.QUEUES),
                priority=random.choice(tuple(Priority)),
                delay_us=random.choice((0, 0, 5 * SECOND)),
                max_attempts=policy.retry.max_attempts,
                policy=policy,
            )
            for run_id in run_ids(now, random.randbytes(10), random.choice((1, 3, 20)))
        ]
        writing = self._database.begin_enqueue(runs)
        self._world.later(strike.seconds, self._written, writing, runs, random)

    def _written(self, writing: OpenTransaction, runs: list[NewRun], random: Random) -> None:
        answers = writing.end(commit=random.random() < 0.75)
        self._world.watch.lateness.disturbed()
        if answers is None:
            self._world.record.visited("long transaction rolled back")
            return
        self._world.record.visited("long transaction committed")
        self._world.watch.saw("application", "enqueue", Seen((runs,)), answers)
        if random.random() < 0.5:
            self._users.wake.hint({run.queue for run in runs})

    def _claim(self, strike: Strike, random: Random) -> None:
        claim = self._database.begin_claim(random.choice((1, 5, 50)))
        self._world.later(min(strike.seconds, _CLAIM_OPEN), self._roll_back, claim)

    def _roll_back(self, claim: OpenTransaction) -> None:
        claim.end(commit=False)
        self._world.watch.lateness.disturbed()

    def _lose_days(self, _: Strike, __: Random) -> None:
        if not self._database.lose_days():
            self._world.record.visited("days of history in use")

    def _lose_lane(self, _: Strike, random: Random) -> None:
        queue = random.choice(draw.QUEUES)
        self._database.lose_lane(queue)
        self._await_lane(queue)

    def _await_lane(self, queue: str) -> None:
        """Until somebody mends it, who is new does not know of it."""
        self._world.watch.lateness.disturbed()
        if not self._database.has_lane(queue):
            self._world.later(_LOOK, self._await_lane, queue)
