"""Hints in a simulated world: they reach every process, some of them late, twice or never."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from contextvars import Context

from puntual.simulate.world import World
from puntual.wake.local import LocalWake


class Exchange:
    """Passes hints on between processes. ``late`` and ``doubled`` say until when they are so."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ears: list[SimWake] = []
        self._random = world.random("hints")
        self.late_until = 0.0
        self.doubled_until = 0.0

    def join(self, ear: SimWake) -> None:
        """A process listens."""
        self._ears.append(ear)

    def leave(self, ear: SimWake) -> None:
        """It does no more."""
        self._ears.remove(ear)

    def tell(self, speaker: SimWake, word: Callable[[LocalWake], None]) -> None:
        """Sends to all others."""
        now = self._world.loop.time()
        if speaker.deaf_until > now:
            return
        for ear in self._ears:
            if ear is speaker:
                continue
            for _ in range(2 if now < self.doubled_until else 1):
                delay = self._world.latency() + (self._random.uniform(0, 30) if now < self.late_until else 0)
                self._world.later(delay, ear.heard, word)


class SimWake:
    """A ``Wake`` for one process. ``deaf_until`` is until when it neither hears nor is heard."""

    trouble: str | None = None

    def __init__(self, exchange: Exchange, world: World, context: Context) -> None:
        self._exchange = exchange
        self._world = world
        self._context = context
        self._local = LocalWake()
        self.deaf_until = 0.0 if world.scenario.hints else float("inf")
        exchange.join(self)

    def deafen(self, seconds: float) -> None:
        """It neither hears nor is heard for so long from now."""
        self.deaf_until = max(self.deaf_until, self._world.loop.now + seconds)

    def heard(self, word: Callable[[LocalWake], None]) -> None:
        """Somebody else has said something."""
        if self._world.loop.time() >= self.deaf_until:
            self._world.loop.call_soon(word, self._local, context=self._context)

    def hint(self, queues: Iterable[str]) -> None:
        """As ``Wake.hint``."""
        named = sorted(set(queues))
        if named:
            self._say(lambda local: local.hint(named))

    def hint_planner(self) -> None:
        """As ``Wake.hint_planner``."""
        self._say(lambda local: local.hint_planner())

    def hint_cancels(self) -> None:
        """As ``Wake.hint_cancels``."""
        self._say(lambda local: local.hint_cancels())

    def subscribe(
        self,
        *,
        queues: Collection[str] | None = None,
        runs: Callable[[], None] | None = None,
        schedules: Callable[[], None] | None = None,
        cancels: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """As ``Wake.subscribe``."""
        return self._local.subscribe(queues=queues, runs=runs, schedules=schedules, cancels=cancels)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """As ``Wake.listening``."""
        yield

    async def close(self) -> None:
        """As ``Wake.close``."""

    def leave(self) -> None:
        """The process is no more."""
        self._exchange.leave(self)

    def _say(self, word: Callable[[LocalWake], None]) -> None:
        if self._world.loop.time() < self.deaf_until:
            return
        word(self._local)
        self._exchange.tell(self, word)
