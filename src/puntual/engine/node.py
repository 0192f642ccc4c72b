"""A node: the loops of one process, started together, drained together.

``scheduler`` plans and does the upkeep, ``worker`` claims and executes; a node may be both. What a node knows about
the others it reads from the store; any of them may die at any instruction.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial

import structlog

from puntual.engine.claim import Claimer
from puntual.engine.execute import Executor
from puntual.engine.held import Held, StoreTime
from puntual.engine.membership import Hands, Membership
from puntual.engine.offset import Offset
from puntual.engine.parts import NodeConfig, Parts
from puntual.engine.planner import Planner
from puntual.engine.service import LONGEST_PAUSE, Health, Loop
from puntual.engine.settle import Settler
from puntual.engine.upkeep.calendars import CalendarKeeper
from puntual.engine.upkeep.lease import Upkeep
from puntual.engine.upkeep.prune import Pruner
from puntual.engine.upkeep.rescue import Rescuer
from puntual.engine.upkeep.zones import Zones
from puntual.model.errors import StoreError

#: How often a node that is to run dry looks whether it has, seconds.
_LOOK = 0.02

log = structlog.get_logger("puntual.engine")


class Node:
    """The engine of one process.

    Args:
        parts: the implementations.
        config: how to run.
        alone: starts a worker process for a run that was lost twice; None: such runs are tried in this process.

    ``store_errors`` counts what the database would not do, by the loop that asked and the error's code; ``unexpected``
    is called with every other error of a loop, which goes on all the same.
    """

    def __init__(self, parts: Parts, config: NodeConfig, *, alone: Callable[[], None] | None = None) -> None:
        self._parts = parts
        self._config = config
        store, clock = parts.store, parts.clock
        self.time = StoreTime(clock)
        self.held = Held()
        self.executor = Executor(parts.targets, config.concurrency, clock=clock, time=self.time, held=self.held)
        self.settler = Settler(store, parts.wake, time=self.time, held=self.held, random=parts.random)
        self.claimer = Claimer(store, self.executor, self.settler, clock=clock, time=self.time)
        self.planner = Planner(store, parts.wake, time=self.time)
        hands = Hands(
            claimer=self.claimer, executor=self.executor, settler=self.settler, held=self.held, time=self.time
        )
        self.membership = Membership(parts, config, hands)
        self.rescuer = Rescuer(store, parts.wake, clock=clock, random=parts.random, lease=config.lease)
        self.pruner = Pruner(store, clock=clock, budget=config.lease / 8)
        self.zones = Zones(store, clock=clock, budget=config.lease / 16)
        resolve = parts.resolve
        self.calendars = None if resolve is None else CalendarKeeper(store, parts.wake, resolve, clock=clock)
        self.upkeep = self._upkeep()
        self.claimer.queues = config.queues
        self.claimer.alone = alone
        self.claimer.tasks = lambda: tuple(parts.targets)
        self.store_errors: Counter[tuple[str, str]] = Counter()
        self.unexpected: Callable[[str, Exception], None] = _unheard
        self._loops: dict[str, Loop] = {}
        self._unsubscribe: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Starts the loops of this node's roles."""
        # Who only plans has a lease too: by it everybody sees that a scheduler lives.
        await self.membership.join()
        steps = {"lease": self.membership.step}
        if "scheduler" in self._config.roles:
            steps["plan"] = self.planner.step
        if "worker" in self._config.roles:
            steps |= {"claim": self.claimer.step, "settle": self.settler.step}
        steps["upkeep"] = self.upkeep.step
        for name, step in steps.items():
            longest = min(self._config.lease / 3, LONGEST_PAUSE)
            self._loops[name] = loop = Loop(name, step, random=self._parts.random, longest=longest)
            loop.failed = partial(self._count_error, name)
        self._connect()
        for loop in self._loops.values():
            loop.start()

    async def drain(self, grace: float | None = None) -> None:
        """Takes nothing more, gives back what has not started, waits for the rest within the grace, then gives it back.

        What is given back is not charged; nothing is lost if this is cut short.
        """
        for name in ("plan", "claim"):
            if name in self._loops:
                await self._loops.pop(name).stop()
        for hold in self.executor.unstarted():
            self.settler.put(hold, None)
        # However long the attempts take that are waited for: somebody else looks after things from now on.
        await self._leave_upkeep()
        await self.executor.drain(self._config.grace if grace is None else grace)
        await self.settler.written(self._config.lease)

    async def stop(self) -> None:
        """Ends every loop, every attempt and the lease. What was not drained is for rescue to find."""
        self._unsubscribe()
        for loop in list(self._loops.values()):
            await loop.stop()
        self._loops.clear()
        await self.executor.close()
        await self.membership.leave()
        await self._leave_upkeep()

    async def _leave_upkeep(self) -> None:
        """Does no more of it, and gives the lease back."""
        if "upkeep" in self._loops:
            await self._loops.pop("upkeep").stop()
        if self.calendars is not None:
            await self.calendars.close()
        try:
            await self.upkeep.resign()
        except Exception as error:  # noqa: BLE001 - the lease runs out by itself
            log.warning("upkeep.not_resigned", error=str(error))

    def health(self) -> list[Health]:
        """How each loop is doing, and the heartbeat."""
        return [*(loop.health() for loop in self._loops.values()), self.membership.heartbeat.health()]

    @property
    def concurrency(self) -> int:
        """How many attempts may be under way."""
        return self._config.concurrency if "worker" in self._config.roles else 0

    @property
    def clock_offset(self) -> Offset | None:
        """What the database's clock shows more than this machine's; None before the first beat was answered."""
        return self.membership.heartbeat.offset.best

    def idle(self) -> bool:
        """Whether nothing is held and nothing waits to be written."""
        return not len(self.held) and self.settler.empty

    async def run_dry(self) -> None:
        """Returns when a claim that began after everything was settled has found nothing, or none is made any more."""
        claimer = self.claimer
        while True:
            while not self.idle():  # noqa: ASYNC110 - the engine has no reason of its own to announce this
                await asyncio.sleep(_LOOK)
            # The claim under way may have begun before the last run was settled, and that may have made another.
            wanted = claimer.fruitless + 2
            while self.idle() and claimer.fruitless < wanted:
                if claimer.draining or (claimer.most is not None and claimer.taken >= claimer.most):
                    return
                await asyncio.sleep(_LOOK)
            if self.idle():
                return

    def _connect(self) -> None:
        """Who wakes whom."""
        self.executor.trusted = self.membership.trusted
        self.executor.finished = self.settler.put
        self.settler.nudge = lambda: self._nudge("settle")
        self.executor.freed = self._freed
        self.claimer.lease_over = self.membership.lease_is_over
        self.membership.nudge = lambda: self._nudge("lease")
        self.membership.heartbeat.failed = partial(self._count_error, "heartbeat")
        self._unsubscribe = self._parts.wake.subscribe(
            queues=self._config.queues,
            runs=lambda: self._nudge("claim"),
            schedules=lambda: self._nudge("plan"),
            cancels=self.membership.heartbeat.beat_now,
        )

    def _count_error(self, loop: str, error: Exception) -> None:
        if isinstance(error, StoreError):
            self.store_errors[loop, error.code] += 1
        else:
            self.unexpected(loop, error)

    def _freed(self) -> None:
        """A slot is free: claim again before the line runs dry, and not for every single one."""
        if self.executor.wants_more():
            self._nudge("claim")

    def _nudge(self, name: str) -> None:
        loop = self._loops.get(name)
        if loop is not None:
            loop.nudge()

    def _upkeep(self) -> Upkeep:
        duties = {"rescue": self.rescuer.round, "prune": self.pruner.round, "zones": self.zones.round}
        if self.calendars is not None:
            duties["calendars"] = self.calendars.round
        holder = self._parts.random.bytes(8).hex()
        reserve = "scheduler" not in self._config.roles
        return Upkeep(self._parts.store, holder, lease=self._config.lease, duties=duties, reserve=reserve)


def _unheard(loop: str, error: Exception) -> None:
    """Takes errors that nobody wants; they were logged."""
