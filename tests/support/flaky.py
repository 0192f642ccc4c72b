"""A store whose answers can be lost, before or after the commit, and a node over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from puntual.engine.clock import SystemClock, SystemRandom
from puntual.engine.node import Node
from puntual.engine.parts import NodeConfig, Parts
from puntual.model.errors import StoreUnavailableError
from puntual.model.ids import run_id
from puntual.model.outcome import Outcome
from puntual.model.run import NewRun, Run
from puntual.store.contract import Store
from puntual.store.requests import Beat, BeatReply, Retention
from puntual.store.sqlite import SqliteStore
from puntual.targets.contract import Target
from puntual.wake.contract import Wake
from puntual.wake.local import LocalWake

DAY = 86_400_000_000
RETENTION = Retention(succeeded_us=DAY, dead_us=DAY, ticks_us=DAY)


def file_store(folder: Path) -> SqliteStore:
    """A store on a file of that folder."""
    return SqliteStore(str(folder / "puntual.db"), clock=SystemClock(), retention=RETENTION)


class Line:
    """A heartbeat line that fails while its store is away."""

    def __init__(self, flaky: FlakyStore, line: Any) -> None:
        self._flaky = flaky
        self._line = line

    def beat(self, beat: Beat) -> BeatReply:
        """As the real one, when it can be reached."""
        if self._flaky.away:
            raise StoreUnavailableError("the database is away")
        reply: BeatReply = self._line.beat(beat)
        return reply

    def close(self) -> None:
        """Closes the real one."""
        self._line.close()


class FlakyStore:
    """Passes everything on, but for what a test takes away."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.away = False
        self.lose_answers: dict[str, int] = {}
        self.calls: dict[str, int] = {}
        self.called = asyncio.Event()

    def heartbeat_line(self) -> Line:
        """A line that goes away with the store."""
        return Line(self, self._store.heartbeat_line())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The operation of that name, or its failure."""
        operation = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] = self.calls.get(name, 0) + 1
            self.called.set()
            if self.away:
                raise StoreUnavailableError("the database is away")
            answer = await operation(*args, **kwargs)
            if self.lose_answers.get(name, 0) > 0:
                self.lose_answers[name] -= 1
                raise StoreUnavailableError("the answer was lost after the commit")
            return answer

        return call


class Handler(Target):
    """A target for task ``t`` that does what the test says, and tells of each start."""

    def __init__(self, act: Callable[[Run], Any]) -> None:
        self._act = act
        self.starts: asyncio.Queue[Run] = asyncio.Queue()

    def tasks(self) -> tuple[str, ...]:
        """The one task."""
        return ("t",)

    async def execute(self, run: Run) -> Outcome:
        """As scripted."""
        self.starts.put_nowait(run)
        outcome: Outcome = await self._act(run)
        return outcome

    async def close(self) -> None:
        """Holds nothing."""


def new_run(number: int, **fields: Any) -> NewRun:
    """A run of task ``t``."""
    return NewRun(id=run_id(number * 1000, number.to_bytes(10, "big")), task="t", **fields)


class Deaf(LocalWake):
    """Hints that nobody hears."""

    def hint(self, queues: Iterable[str]) -> None:
        """Is lost."""

    def hint_planner(self) -> None:
        """Is lost."""

    def hint_cancels(self) -> None:
        """Is lost."""


@asynccontextmanager
async def running(
    store: Any,
    handler: Handler,
    *,
    alone: Callable[[], None] | None = None,
    wake: Wake | None = None,
    **config: Any,
) -> AsyncIterator[Node]:
    """A node with a short lease, stopped without a drain in the end."""
    parts = Parts(
        store=store, wake=wake or LocalWake(), targets={"t": handler}, clock=SystemClock(), random=SystemRandom()
    )
    node = Node(parts, NodeConfig(**{"lease": 0.4, "grace": 0.2, "concurrency": 10, **config}), alone=alone)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


async def until(check: Callable[[], Any], *, every: float = 0.005) -> Any:
    """Waits until the check, or what it awaits, is true; the test's own timeout bounds it."""
    while True:
        found = check()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(every)
