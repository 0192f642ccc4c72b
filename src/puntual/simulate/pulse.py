"""A heart of the simulated world: beside its node's loop, so that a handler that blocks one does not stop the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context

from puntual.engine.pulse import Life
from puntual.simulate.loop import VirtualLoop
from puntual.store.contract import HeartbeatLine
from puntual.store.requests import Beat, BeatReply


class SimPulse:
    """As ``puntual.engine.pulse.Pulse``, on virtual time.

    Args:
        loop: the virtual loop.
        heart: the context of what runs beside the node's loop.
        node: the context of the node's loop.
        send: sends a beat over the node's own connection.
    """

    def __init__(
        self, loop: VirtualLoop, *, heart: Context, node: Context, send: Callable[[Beat], Awaitable[BeatReply]]
    ) -> None:
        self._loop = loop
        self._heart = heart
        self._node = node
        self._send = send
        self._task: asyncio.Task[None] | None = None
        self._nudged: asyncio.Event = asyncio.Event()
        self.stopped = False

    def start(self, life: Life) -> None:
        """As ``Pulse.start``."""
        self.stopped = False
        self._nudged.clear()
        self._task = self._loop.create_task(life(), context=self._heart)

    @property
    def ended(self) -> bool:
        """As ``Pulse.ended``."""
        return self._task is not None and self._task.done()

    def nudge(self) -> None:
        """As ``Pulse.nudge``."""
        self._nudged.set()

    async def stop(self) -> None:
        """As ``Pulse.stop``."""
        self.stopped = True
        self._nudged.set()
        if self._task is not None:
            await asyncio.wait([self._task])
            self._task = None

    async def wait(self, seconds: float) -> None:
        """As ``Pulse.wait``."""
        timer = self._loop.call_later(seconds, self._nudged.set)
        await self._nudged.wait()
        timer.cancel()
        self._nudged.clear()

    async def beat(self, line: HeartbeatLine, beat: Beat) -> BeatReply:  # noqa: ARG002 - the way leads over the net
        """As ``Pulse.beat``."""
        return await self._send(beat)

    async def ask(self, sign: Callable[[], None], seconds: float) -> bool:
        """As ``Pulse.ask``."""
        given = asyncio.Event()

        def give() -> None:
            sign()
            given.set()

        self._loop.call_soon(give, context=self._node)
        timer = self._loop.call_later(seconds, given.set)
        await given.wait()
        timer.cancel()
        return True

    def tell(self, callback: Callable[..., None], *args: object) -> bool:
        """As ``Pulse.tell``."""
        self._loop.call_soon(callback, *args, context=self._node)
        return True
