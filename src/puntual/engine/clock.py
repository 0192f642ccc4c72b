"""The one place that reads the machine's clocks and draws random numbers."""

from __future__ import annotations

import asyncio
import os
import random
import time

#: Goes on while the machine sleeps, so that a laptop woken an hour later does not trust its lease (Linux; elsewhere
#: monotonic).
_BOOTTIME: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return time.time_ns() // 1000

    def steady(self) -> float:
        """Seconds that never step."""
        return time.clock_gettime(_BOOTTIME)

    async def sleep(self, seconds: float) -> None:
        """Waits that long."""
        await asyncio.sleep(seconds)


class SystemRandom:
    """Randomness for ids (from the operating system) and for jitter."""

    def bytes(self, count: int) -> bytes:
        """Random bytes that nobody can guess."""
        return os.urandom(count)

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return random.random()  # noqa: S311 - spreads retries, guards nothing
