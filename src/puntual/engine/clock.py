"""The one place that reads the machine's clocks and draws random numbers."""

from __future__ import annotations

import os
import random
import threading
import time
from weakref import WeakMethod

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


class SystemRandom:
    """Randomness for ids (from the operating system) and for jitter.

    Bytes are drawn a page at a time: a system call lets go of the GIL, and taking it back from a busy thread cost 80 us
    for each id. A forked child draws its own.
    """

    _PAGE = 4096

    def __init__(self) -> None:
        self._start_anew()
        if hasattr(os, "register_at_fork"):
            forget = WeakMethod(self._start_anew)
            os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    def _start_anew(self) -> None:
        self._lock = threading.Lock()
        self._page = b""
        self._used = 0

    def bytes(self, count: int) -> bytes:
        """Random bytes that nobody can guess, never given twice."""
        with self._lock:
            if self._used + count > len(self._page):
                self._page = os.urandom(max(self._PAGE, count))
                self._used = 0
            self._used += count
            return self._page[self._used - count : self._used]

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return random.random()  # noqa: S311 - spreads retries, guards nothing
