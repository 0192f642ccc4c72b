"""The clocks of a simulated world, each wrong in its own way, and chance that a seed fixes."""

from __future__ import annotations

from random import Random
from typing import Final

from puntual.model.instant import SECOND
from puntual.simulate.loop import VirtualLoop

#: When every simulation begins: a Monday, 2026-03-02 00:00 UTC.
START: Final = 1_772_409_600 * SECOND


class SimClock:
    """A clock that drifts and can be set: a node's own, or the database's.

    Args:
        loop: whose time it follows.
        rate: how fast it goes; 1.01 gains a hundredth.
        offset_us: how far off it is at first.
    """

    def __init__(self, loop: VirtualLoop, *, rate: float = 1.0, offset_us: int = 0) -> None:
        self._loop = loop
        self._rate = rate
        self._offset_us = offset_us

    def now(self) -> int:
        """Microseconds since 1970, as it shows."""
        return START + self._offset_us + int(self._loop.now * self._rate * SECOND)

    def steady(self) -> float:
        """Seconds that never step, at its own pace."""
        return self.steady_at(self._loop.now)

    def steady_at(self, seconds: float) -> float:
        """What ``steady`` showed, or will, at that time of the loop."""
        return seconds * self._rate

    def step(self, us: int) -> None:
        """Somebody sets it forward, or back."""
        self._offset_us += us


class SimRandom:
    """A node's randomness, by the seed."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311 - a simulation has to be repeatable

    def bytes(self, count: int) -> bytes:
        """Random bytes, the same in each replay."""
        return self._random.randbytes(count)

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()
