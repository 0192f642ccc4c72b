"""The two clocks that the rest is given: the wall, which says what time it is, and a steady one to measure with."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Where time comes from; production has one (``engine.clock.SystemClock``), tests and the simulation another."""

    def now(self) -> int:
        """The wall clock in microseconds since 1970, UTC. It may step; never measure with it."""
        ...

    def steady(self) -> float:
        """Seconds on a clock that never steps and goes on while the machine sleeps (CLOCK_BOOTTIME)."""
        ...
