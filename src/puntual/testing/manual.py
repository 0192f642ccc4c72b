"""A scheduler with its loops cut out: a test says what time it is, and what is due runs there and then.

The engine's own plan, claim, execute and settle, over SQLite in memory; only the waiting is missing, so an hour takes
milliseconds.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from puntual.app import App
from puntual.engine.node import Node
from puntual.model.blocking import blocking
from puntual.model.duration import parse_duration
from puntual.model.errors import ConflictError
from puntual.model.handle import Run
from puntual.model.instant import from_datetime, parse_instant, to_datetime
from puntual.model.run import RunState
from puntual.settings import Settings
from puntual.store.requests import Page, Retention, RunFilter
from puntual.store.sqlite import SqliteStore

T = TypeVar("T")
_START = "2026-01-01T00:00:00Z"
_FOREVER = 10**15
_ALL = 1000


class ManualClock:
    """Time that stands still until a test moves it."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._now = start

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return self._now

    def steady(self) -> float:
        """Seconds since the start."""
        return (self._now - self._start) / 1_000_000

    def move_to(self, instant: int) -> None:
        """It is now this instant."""
        self._now = max(instant, self._now)


class ManualApp:
    """Drives an app by hand.

    Args:
        app: the app to test; without it an empty one, whose ``task`` and ``schedule`` are this object's too.
        start: what time it is at first: RFC 3339 text or an aware datetime.

    Use it as ``async with ManualApp(...) as manual:``, or ``with`` and the methods that end in ``_sync``.
    """

    def __init__(self, app: App | None = None, *, start: str | datetime = _START) -> None:
        self.app = app or App(Settings())
        instant = parse_instant(start, field="start") if isinstance(start, str) else from_datetime(start)
        self.clock = ManualClock(instant)
        self.task = self.app.task
        self.schedule = self.app.schedule
        self._stack = AsyncExitStack()
        self._node: Node | None = None

    @property
    def now(self) -> datetime:
        """What time it is, in UTC."""
        return to_datetime(self.clock.now())

    async def __aenter__(self) -> Self:
        """Opens a store in memory and writes the schedules that the app declares."""
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _open(self) -> None:
        self._stack.callback(self.app.connect_to, None, self.app.clock)
        retention = Retention(succeeded_us=_FOREVER, dead_us=_FOREVER, ticks_us=_FOREVER)
        self.app.connect_to(SqliteStore(":memory:", clock=self.clock, retention=retention, inline=True), self.clock)
        await self._stack.enter_async_context(self.app)
        await self.app.declare()
        node = await self._stack.enter_async_context(self.app.making_node(("scheduler", "worker")))
        node.executor.trusted = lambda: True
        node.executor.finished = node.settler.put
        node.claimer.ahead_us = 0
        await node.membership.register()
        self._node = node

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self._node = None
        await self._stack.aclose()

    def __enter__(self) -> Self:
        """The same for a test that is not async."""
        self._background = self.app.in_background(self)
        self._background.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        """Closes it."""
        self._background.__exit__(None, None, None)

    async def run_due(self) -> int:
        """Runs all that is due now, and what that made due; returns how many attempts were made."""
        node = self._started()
        attempts = 0
        while True:
            while await node.planner.step() == 0:
                pass
            await node.claimer.step()
            if not len(node.held):
                return attempts
            await node.executor.finish_all()
            attempts += len(node.held)
            while not node.settler.empty:
                await node.settler.step()

    async def advance(self, duration: str) -> int:
        """Lets time pass, stopping where something is due, and runs it; returns how many attempts were made.

        Args:
            duration: as ``90s``, ``1h30m`` or ``2d``.
        """
        node = self._started()
        until = self.clock.now() + parse_duration(duration, field="duration")
        attempts = await self.run_due()
        while True:
            coming = [at for at in (node.planner.next_look_at, node.claimer.next_claim_at) if at is not None]
            following = min((at for at in coming if at > self.clock.now()), default=until)
            if following >= until:
                break
            self.clock.move_to(following)
            attempts += await self.run_due()
        self.clock.move_to(until)
        return attempts + await self.run_due()

    async def runs(self, *, task: str | None = None, state: str | None = None) -> list[Run]:
        """Runs, oldest first; at most the newest 1,000."""
        where = RunFilter(tasks=() if task is None else (task,), states=() if state is None else (RunState(state),))
        found = await self.app.runs.find(where, Page(limit=_ALL))
        return sorted(found, key=lambda run: (run.row.due_at, run.id))

    run_due_sync = blocking(run_due)
    advance_sync = blocking(advance)
    runs_sync = blocking(runs)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self.app.core.block(work)

    def _started(self) -> Node:
        if self._node is None:
            raise ConflictError("The manual app is not open: use `async with ManualApp() as manual:`.")
        return self._node
