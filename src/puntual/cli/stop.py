"""The wish to end: the first signal asks for it, the second takes it; so does the end of a supervisor ask for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Awaitable
from types import FrameType
from typing import Final

from puntual.cli.member import Member

#: What a drain needs beyond its grace: attempts have 5 s to stop, and what became of them is written. Seconds.
MARGIN: Final = 12.0


class Stop:
    """Waits for the wish to end; a drain that takes longer than its grace and a margin is ended too.

    The handlers are the interpreter's own and not the loop's, so that one that blocks the loop cannot hold them up.

    Args:
        grace: how long a drain may take, seconds.

    ``limit`` is after how many seconds it is ended.
    """

    def __init__(self, grace: float) -> None:
        self.asked = asyncio.Event()
        self.limit: Final = grace + MARGIN
        self._signalled = False

    def listen(self, member: Member | None = None) -> None:
        """Takes SIGTERM and SIGINT from now on, and hears a supervisor's wish where there is one.

        Whoever stops a whole service may send the signal to each of its processes: that the supervisor asks for the
        same is no second signal.
        """
        loop = asyncio.get_running_loop()

        def ask(number: int) -> None:
            last = threading.Timer(self.limit, os._exit, [128 + number])
            last.daemon = True
            try:
                last.start()
            except RuntimeError:
                # Handlers have taken every thread that the system gives.
                alarm(self.limit)
            # A supervisor may go at any time, also when the loop has ended by itself.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.asked.set)

        def heard(number: int, _frame: FrameType | None) -> None:
            if self._signalled:
                # Nothing is lost by this: what was running is for rescue to find.
                os._exit(128 + number)
            self._signalled = True
            ask(number)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, heard)
        if member is not None:
            member.when_asked(lambda: ask(signal.SIGTERM))


def alarm(seconds: float) -> None:
    """The system itself ends this process then: it needs no thread for that, and nothing of the interpreter."""
    # Only the main thread may put the signal's meaning back, which hardly anybody changes.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


async def first_of(*waits: Awaitable[object]) -> None:
    """Waits until one of them is over, and gives up the others; raises what it raised."""
    every = [asyncio.ensure_future(wait) for wait in waits]
    try:
        over, _ = await asyncio.wait(every, return_when=asyncio.FIRST_COMPLETED)
        for wait in over:
            wait.result()
    finally:
        for wait in every:
            wait.cancel()
        await asyncio.gather(*every, return_exceptions=True)
