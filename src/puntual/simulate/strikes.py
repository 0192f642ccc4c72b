"""Strikes: each fault of a scenario meets its target when its time has come."""

from __future__ import annotations

from collections.abc import Callable

from puntual.model.instant import SECOND
from puntual.simulate.link import Link
from puntual.simulate.process import Fleet, Process
from puntual.simulate.scenario import Blow, Hit, ServerBlow, Strike
from puntual.simulate.server import ServerStriker
from puntual.simulate.users import Users
from puntual.simulate.world import World

#: How much of its log a standby had not received when it was promoted, seconds at most.
_TAIL = 1.0
#: How soon a strike looks again for a process to meet, seconds.
_NEXT_LIFE = 2.0


class Striker:
    """Carries out a scenario's strikes."""

    def __init__(self, world: World, fleet: Fleet, users: Users) -> None:
        self._world = world
        self._fleet = fleet
        self._users = users
        self._server = ServerStriker(world, users)
        self._failing_over = False
        self._blows: dict[Blow, Callable[[Strike], None]] = {
            Blow.AWAY: self._away,
            Blow.FAIL_OVER: self._keep,
            Blow.LATE_HINTS: self._late_hints,
            Blow.DOUBLED_HINTS: self._doubled_hints,
            Blow.NODE_CLOCK: self._node_clock,
            Blow.DATABASE_CLOCK: self._database_clock,
        }
        self._to_process: dict[Blow, Callable[[Process, Strike], None]] = {
            Blow.CRASH: lambda process, _: process.crash(),
            Blow.FREEZE: lambda process, strike: process.freeze(strike.seconds),
            Blow.DRAIN: lambda process, _: process.ask_to_stop(),
            Blow.CUT: lambda process, strike: process.link.cut(strike.seconds),
            Blow.HUNG: lambda process, strike: process.link.hang(strike.operation, strike.seconds),
            Blow.HALF_OPEN: lambda process, strike: process.link.mute(strike.seconds),
            Blow.DEAF: lambda process, strike: process.wake.deafen(strike.seconds),
        }

    def begin(self, strikes: tuple[Strike, ...]) -> None:
        """Lets each come when its time has."""
        for strike in strikes:
            self._world.later(strike.at, self._strike, strike)

    def _strike(self, strike: Strike) -> None:
        if isinstance(strike.kind, Hit) or strike.kind is ServerBlow.CUT:
            link = self._link(strike.slot)
            if strike.operation == "register_worker":  # Who lives has done it.
                self._fleet.coming[strike.slot].append(strike)
            elif link is not None:
                link.arm(strike)
            else:
                self._wait(strike)
        elif isinstance(strike.kind, ServerBlow):
            self._server.strike(strike)
        elif strike.kind in self._blows:
            self._world.record.struck(strike.kind, "", f"{strike.seconds:.1f} s")
            self._blows[strike.kind](strike)
        else:
            lonely, main = self._fleet.lonely[strike.slot], self._fleet.slots[strike.slot]
            process = lonely if lonely is not None and int(strike.at * 1000) % 2 else main
            if process is not None:
                detail = f"{strike.operation} {strike.seconds:.1f} s".strip()
                self._world.record.struck(strike.kind, process.who, detail)
                self._to_process[strike.kind](process, strike)
            else:
                self._wait(strike)

    def _wait(self, strike: Strike) -> None:
        """Nobody lives on that machine: its next process is struck."""
        if self._world.loop.time() < self._world.scenario.seconds:
            self._world.later(_NEXT_LIFE, self._strike, strike)

    def _link(self, slot: int) -> Link | None:
        if slot < 0:
            return self._users.link
        process = self._fleet.slots[slot]
        return None if process is None else process.link

    def _away(self, strike: Strike) -> None:
        self._world.away_until = max(self._world.away_until, self._world.loop.time() + strike.seconds)
        self._world.watch.judges.leases.away(strike.seconds)
        self._world.later(strike.seconds, self._world.watch.lateness.disturbed)

    def _keep(self, strike: Strike) -> None:
        """The standby stops receiving; a moment later it is promoted, and until then nobody knows."""
        if not self._failing_over:
            self._failing_over = True
            self._world.pending += 1
            self._world.database.keep()
            self._world.watch.keep()
            self._world.later(min(strike.seconds, _TAIL), self._fail_over)

    def _fail_over(self) -> None:
        self._failing_over = False
        self._world.pending -= 1
        self._world.record.tell("", "the standby is promoted")
        self._world.database.fail_over()
        self._world.watch.fail_over()
        self._world.away_until = max(self._world.away_until, self._world.loop.time() + 1.0)
        self._world.later(1.0, self._world.watch.lateness.disturbed)

    def _late_hints(self, strike: Strike) -> None:
        self._fleet.exchange.late_until = self._world.loop.time() + strike.seconds

    def _doubled_hints(self, strike: Strike) -> None:
        self._fleet.exchange.doubled_until = self._world.loop.time() + strike.seconds

    def _node_clock(self, strike: Strike) -> None:
        self._fleet.clocks[strike.slot].step(int(strike.seconds * SECOND))

    def _database_clock(self, strike: Strike) -> None:
        self._world.database.clock.step(int(strike.seconds * SECOND))
        self._world.watch.judges.starts.stepped()
        self._world.watch.lateness.disturbed()

    def heal(self) -> None:
        """Nothing is out of order any more, but what takes its time goes on."""
        self._world.away_until = 0.0
        self._world.watch.judges.leases.back()
        self._fleet.exchange.late_until = self._fleet.exchange.doubled_until = 0.0
        for coming in self._fleet.coming:
            coming.clear()
        for process in self._fleet.processes():
            process.link.disarm()
            if self._world.scenario.hints:
                process.wake.deaf_until = 0.0
        self._users.link.disarm()
