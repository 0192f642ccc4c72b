"""A pulse: what a heart beats with, beside the event loop that it vouches for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Protocol

from puntual.store.contract import HeartbeatLine
from puntual.store.requests import Beat, BeatReply

#: What a heart does from its first beat to its last.
Life = Callable[[], Coroutine[object, None, None]]


class Pulse(Protocol):
    """Runs one life after another, aside from the loop. Its coroutines are awaited by that life only."""

    def start(self, life: Life) -> None:
        """Begins a life, in the event loop that runs."""
        ...

    @property
    def stopped(self) -> bool:
        """Whether the life is to end."""
        ...

    @property
    def ended(self) -> bool:
        """Whether a life has ended that nobody stopped."""
        ...

    def nudge(self) -> None:
        """Cuts the wait under way short, or the next one."""
        ...

    async def stop(self) -> None:
        """Ends the life under way and waits for that."""
        ...

    async def wait(self, seconds: float) -> None:
        """Lets so much time pass."""
        ...

    async def beat(self, line: HeartbeatLine, beat: Beat) -> BeatReply:
        """Sends one beat."""
        ...

    async def ask(self, sign: Callable[[], None], seconds: float) -> bool:
        """Has the event loop call ``sign``, and waits so long at most for that; False when the loop has closed."""
        ...

    def tell(self, callback: Callable[..., None], *args: object) -> bool:
        """Has the event loop call this, without waiting; False when it has closed."""
        ...


class ThreadPulse:
    """A thread of its own, so that nothing that blocks the event loop for a while costs a lease.

    What it awaits blocks this thread and nobody else's, so that a life never suspends.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._nudged = threading.Event()
        self._over = asyncio.Event()

    def start(self, life: Life) -> None:
        """As ``Pulse.start``."""
        self._loop = asyncio.get_running_loop()
        self._stopped.clear()
        self._over = asyncio.Event()
        thread = threading.Thread(target=self._live, args=(life,), name="puntual-heartbeat", daemon=True)
        thread.start()
        self._thread = thread

    @property
    def stopped(self) -> bool:
        """As ``Pulse.stopped``."""
        return self._stopped.is_set()

    @property
    def ended(self) -> bool:
        """As ``Pulse.ended``."""
        return self._thread is not None and not self._thread.is_alive()

    def nudge(self) -> None:
        """As ``Pulse.nudge``."""
        self._nudged.set()

    async def stop(self) -> None:
        """As ``Pulse.stop``."""
        self._stopped.set()
        self._nudged.set()
        if self._thread is not None:
            # Not by a thread that waits for it: a process whose handlers have taken them all could never leave.
            await self._over.wait()
            self._thread.join()
            self._thread = None

    async def wait(self, seconds: float) -> None:
        """As ``Pulse.wait``."""
        self._nudged.wait(seconds)
        self._nudged.clear()

    async def beat(self, line: HeartbeatLine, beat: Beat) -> BeatReply:
        """As ``Pulse.beat``."""
        return line.beat(beat)

    async def ask(self, sign: Callable[[], None], seconds: float) -> bool:
        """As ``Pulse.ask``."""
        given = threading.Event()

        def give() -> None:
            sign()
            given.set()

        asked = self.tell(give)
        if asked:
            given.wait(seconds)
        return asked

    def tell(self, callback: Callable[..., None], *args: object) -> bool:
        """As ``Pulse.tell``."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            return False
        return True

    def _live(self, life: Life) -> None:
        try:
            life().send(None)
        except StopIteration:
            return
        finally:
            self.tell(self._over.set)
        raise RuntimeError("A heart on a thread has nothing to suspend to.")
