"""Processes of a simulated world, each the real engine's node: started, frozen, killed, drained, and started again."""

from __future__ import annotations

from collections.abc import Callable

from puntual.engine.node import Node
from puntual.engine.parts import NodeConfig, Parts
from puntual.engine.pulse import Pulse
from puntual.model.errors import PuntualError
from puntual.model.run import Run
from puntual.simulate.clocks import SimClock, SimRandom
from puntual.simulate.handlers import SimTarget
from puntual.simulate.hints import Exchange, SimWake
from puntual.simulate.link import Link
from puntual.simulate.loop import Actor, context_of
from puntual.simulate.pulse import SimPulse
from puntual.simulate.scenario import Machine, Strike
from puntual.simulate.world import World

#: A claim that was taken away so little before a start may have been so by clocks that differ, seconds.
_BLINK = 0.05
_MOST_ALONE = 1_000
#: What each role asks the database again and again.
_DUTIES = {"scheduler": "plan", "worker": "claim"}


class Process:
    """One life of one process.

    Args:
        world: where it is.
        exchange: passes its hints on.
        machine: what runs there.
        clock: of the machine.
        who: its name.

    ``alone`` starts a process for lonely runs; None: this is one. ``over`` is called when it is no more.
    """

    def __init__(
        self,
        world: World,
        exchange: Exchange,
        machine: Machine,
        *,
        clock: SimClock,
        who: str,
    ) -> None:
        self.who = who
        self._world = world
        self._loop = world.loop
        self._actor = Actor(who, machine.rate)
        self._beside = Actor(f"{who}~", machine.rate)
        self._context = context_of(self._actor)
        self._held_until = 0.0
        self._blocked_until = 0.0
        self._clock = clock
        self.link = Link(world, who, crash=self.crash, freeze=self.freeze)
        self.link.disturbed = self._disturbed
        self.wake = SimWake(exchange, world, self._context)
        self._machine = machine
        self.alone: Callable[[], None] | None = None
        self.over: Callable[[], None] = lambda: None
        self.node: Node | None = None
        self.dead = False
        self.up = False
        self.unable_at = world.loop.time()
        self.duties = tuple(duty for role, duty in _DUTIES.items() if role in machine.roles)
        self._woken_at = 0.0

    def start(self) -> None:
        """Begins to live."""
        self._loop.begin(self._live(), self._context)

    async def _live(self) -> None:
        scenario, machine = self._world.scenario, self._machine
        targets = SimTarget(scenario.seed, self, self._world.record, self._starting)
        parts = Parts(
            store=self.link.store,
            wake=self.wake,
            targets=dict.fromkeys(machine.tasks or targets.tasks(), targets),
            clock=self._clock,
            random=SimRandom(f"{scenario.seed}:{self.who}"),
            pulse=self._pulse,
        )
        config = NodeConfig(
            roles=("worker",) if self.alone is None else machine.roles,
            queues=machine.queues,
            concurrency=machine.concurrency,
            lease=scenario.lease,
            grace=5.0,
            host=self.who,
        )
        self.node = node = Node(parts, config, alone=self.alone)
        node.unexpected = self._unexpected
        if self.alone is None:
            node.claimer.ahead_us = 0
            node.claimer.most = _MOST_ALONE
            node.claimer.lonely = True
        try:
            await node.start()
            self.up = True
            await (node.run_dry() if self.alone is None else node.membership.asked_to_drain.wait())
            await self.leave()
        except PuntualError as error:
            self._world.record.tell(self.who, "could not start", error.code)
            self.crash()

    async def leave(self) -> None:
        """Drains and ends."""
        node, self.up = self.node, False
        if node is not None:
            await node.drain()
            await node.stop()
        self._world.record.tell(self.who, "left")
        self._end()

    def ask_to_stop(self) -> None:
        """A signal has come."""
        if self.up and self.node is not None:
            self._loop.call_soon(self.node.membership.asked_to_drain.set, context=self._context)

    def crash(self) -> None:
        """It is no more, from this instant."""
        if not self.dead:
            self._world.record.tell(self.who, "died")
            self._end()

    def freeze(self, seconds: float) -> None:
        """Nothing of it goes on for so long."""
        self._held_until = max(self._held_until, self._loop.time() + seconds)
        self._loop.hold(self._actor)
        self._loop.hold(self._beside)
        self._world.later(seconds, self._wake_up)

    def block(self, seconds: float) -> None:
        """A handler keeps the loop; what is beside it goes on."""
        self._world.record.visited("loop blocked")
        self._blocked_until = self._loop.time() + seconds
        self._loop.hold(self._actor)
        self._world.later(seconds, self._wake_up)

    def serves(self, run: Run) -> bool:
        """Whether it takes such runs."""
        machine = self._machine
        return (
            "worker" in machine.roles
            and (machine.queues is None or run.queue in machine.queues)
            and (machine.tasks is None or run.task in machine.tasks)
        )

    @property
    def able(self) -> bool:
        """Whether it could start something at this moment."""
        node, now = self.node, self._loop.time()
        return (
            self.up
            and not self.dead
            and not self._actor.held
            and now >= max(self.link.cut_until, self.link.mute_until, self.link.busy_until, self._world.away_until)
            and node is not None
            and not node.claimer.draining
            and node.membership.trusted()
            and node.executor.room() > 0
        )

    def _unexpected(self, loop: str, error: Exception) -> None:
        """A loop of the engine has failed by no fault of the database's; a duty may take too long for its limit."""
        if not isinstance(error, TimeoutError):
            self._world.record.broken("engine", f"the loop {loop} of {self.who} failed: {error!r}")

    def _disturbed(self) -> None:
        self.unable_at = self._loop.time()

    def _wake_up(self) -> None:
        now = self._loop.time() + 1e-6
        if now >= self._held_until and not self.dead:
            self._loop.let_go(self._beside)
            if now >= self._blocked_until:
                self._woken_at = self._loop.time()
                self._loop.let_go(self._actor)

    def _end(self) -> None:
        self.dead, self.up = True, False
        self.wake.leave()
        self._loop.end(self._actor)
        self._loop.end(self._beside)
        self._world.later(0, self.over)

    def _pulse(self) -> Pulse:
        return SimPulse(self._loop, heart=context_of(self._beside), node=self._context, send=self.link.beat)

    def _starting(self, run: Run) -> None:
        """A handler is about to be called: its claim must not have been taken away before it was decided to."""
        if self.node is not None:
            self._world.watch.judges.starts.starting(
                run,
                self.node.held,
                woken_at=max(self._woken_at, self.link.answered_at),
                lonely=self.node.claimer.lonely,
            )
        taken = self._world.watch.known.taken.get((run.id, run.attempt, run.worker or ""))
        if taken is None or self.node is None:
            return
        hold = self.node.held.get(run.id)
        began = self._clock.steady() if hold is None or hold.group is None else hold.group.started
        # What it decides in the instant in which it is woken it decides knowing how late it is.
        if began > self._clock.steady_at(taken + _BLINK) and began >= self._clock.steady_at(self._woken_at):
            self._world.record.broken("G3", f"{self.who} started {run.id} after its claim was taken away")


class Fleet:
    """The machines, each with a process that is started again when it ends, and lonely processes beside them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.exchange = Exchange(world)
        self.clocks = [
            SimClock(world.loop, rate=machine.rate, offset_us=machine.offset_us) for machine in world.scenario.machines
        ]
        self.slots: list[Process | None] = [None] * len(self.clocks)
        self.lonely: list[Process | None] = [None] * len(self.clocks)
        self._random = world.random("restarts")
        #: What strikes the next process of each machine as it begins.
        self.coming: list[list[Strike]] = [[] for _ in self.clocks]
        self._lives = 0

    def start(self) -> None:
        """Starts every machine."""
        for slot, machine in enumerate(self._world.scenario.machines):
            self._world.later(machine.since, self._boot, slot)
            self._world.later(machine.until, self._leave, slot)
        self._look()

    def _look(self) -> None:
        self._world.watch.lateness.look([one for one in self.slots if one is not None])
        self._world.later(1.0, self._look)

    def processes(self) -> list[Process]:
        """Those that live."""
        return [one for one in (*self.slots, *self.lonely) if one is not None]

    def _boot(self, slot: int) -> None:
        process = self._made(slot, "n")
        process.alone = lambda: self._start_alone(slot)
        while self.coming[slot]:
            process.link.arm(self.coming[slot].pop())
        process.over = lambda: self._ended(slot)
        self.slots[slot] = process
        process.start()

    def _leave(self, slot: int) -> None:
        process = self.slots[slot]
        if process is not None:
            process.ask_to_stop()

    def _ended(self, slot: int) -> None:
        self.slots[slot] = None
        pause = self._random.choices((self._random.uniform(0.5, 3), 20.0, 90.0), (7, 2, 1))[0]
        if self._world.loop.time() + pause < self._world.scenario.machines[slot].until:
            self._world.later(pause, self._boot, slot)

    def _start_alone(self, slot: int) -> None:
        if self.lonely[slot] is None:
            process = self.lonely[slot] = self._made(slot, "a")
            process.over = lambda: self._world.later(2.0, self._alone_over, slot)
            self._world.record.visited("process for lonely runs")
            self._world.later(0.5, process.start)

    def _alone_over(self, slot: int) -> None:
        self.lonely[slot] = None

    def _made(self, slot: int, kind: str) -> Process:
        self._lives += 1
        machine = self._world.scenario.machines[slot]
        return Process(self._world, self.exchange, machine, clock=self.clocks[slot], who=f"{kind}{slot}.{self._lives}")
