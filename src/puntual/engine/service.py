"""Every loop of the engine: it steps, waits, steps again; an error makes it slower and its health red, never ends it.

A loop is stopped by asking, never by cancelling: a claim or a settle under way is always awaited, so that no answer
is lost by our own hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
import structlog

_FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0

log = structlog.get_logger("puntual.engine")


class Randomness(Protocol):
    """Where jitter and ids come from."""

    def bytes(self, count: int) -> bytes:
        """Random bytes."""
        ...

    def fraction(self) -> float:
        """A number in [0, 1)."""
        ...


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How a loop is doing: failures in a row, and the last error."""

    name: str
    failures: int
    error: str | None

    @property
    def good(self) -> bool:
        """Whether its last step succeeded."""
        return self.failures == 0


class Loop:
    """One loop: ``step`` does a round and says how many seconds to wait for the next; ``nudge`` cuts the wait short.

    After errors it pauses longer and longer, up to ``longest`` seconds. ``failed`` is called with each.
    """

    def __init__(
        self, name: str, step: Callable[[], Awaitable[float]], *, random: Randomness, longest: float = LONGEST_PAUSE
    ) -> None:
        self.name = name
        self._longest = longest
        self._step = step
        self._random = random
        self._nudged = asyncio.Event()
        self._stopping = False
        self.failed: Callable[[Exception], None] = _unheard
        self._task: asyncio.Task[None] | None = None
        self._failures = 0
        self._error: str | None = None

    def start(self) -> None:
        """Begins to loop."""
        self._task = asyncio.create_task(self._run(), name=f"puntual-{self.name}")

    def nudge(self) -> None:
        """There may be something to do: step now, or at once after the step under way."""
        self._nudged.set()

    async def stop(self) -> None:
        """Lets the step under way finish and ends the loop. A second call waits for the same end."""
        self._stopping = True
        self._nudged.set()
        if self._task is not None:
            await self._task

    def health(self) -> Health:
        """How it is doing."""
        return Health(name=self.name, failures=self._failures, error=self._error)

    async def _run(self) -> None:
        while not self._stopping:
            self._nudged.clear()
            try:
                delay = await self._step()
            except Exception as error:  # noqa: BLE001 - a loop that dies takes a promise with it; this is shown instead
                delay = self._failed(error)
            else:
                self._recovered()
            if not self._stopping:
                await self._wait(delay)

    async def _wait(self, delay: float) -> None:
        if delay <= 0:
            await asyncio.sleep(0)
            return
        handle = asyncio.get_running_loop().call_later(delay, self._nudged.set)
        try:
            await self._nudged.wait()
        finally:
            handle.cancel()

    def _failed(self, error: Exception) -> float:
        self._failures += 1
        self.failed(error)
        text = f"{type(error).__name__}: {error}"
        if text != self._error:
            log.warning("loop.failed", loop=self.name, error=text, exc_info=not hasattr(error, "code"))
        self._error = text
        pause = min(_FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10), self._longest)
        return pause * (0.5 + self._random.fraction() / 2)

    def _recovered(self) -> None:
        if self._failures:
            log.info("loop.recovered", loop=self.name, failures=self._failures)
        self._failures = 0
        self._error = None


def _unheard(error: Exception) -> None:
    """Takes errors that nobody counts."""
