"""How far this machine's clock is from the database's, told by the answer that came back the quickest.

An answer says what the database's clock showed at some moment between the question and the answer, so half of that
time bounds the error. Of the last few answers the quickest is believed (the clock filter of RFC 5905, section 10).
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from puntual.model.clock import Clock
from puntual.model.instant import SECOND

#: At a quarter of a lease from beat to beat, a step of a clock is told after two leases at most.
_KEPT: Final = 8
_MOST: Final = SECOND


class Offset(msgspec.Struct, frozen=True):
    """What the database's clock shows more than this machine's, and by how much that may be wrong; microseconds."""

    us: int
    error_us: int

    @property
    def good(self) -> bool:
        """Whether the two may be within a second of each other."""
        return abs(self.us) - self.error_us <= _MOST


def offset(now: int, *, sent_at: float, clock: Clock) -> Offset:
    """The offset that an answer tells which has just come.

    Args:
        now: the database's time in it.
        sent_at: the steady time before it was asked for.
        clock: this machine's.
    """
    half = int((clock.steady() - sent_at) * 500_000)
    return Offset(now - (clock.now() - half), half)


class ClockOffset:
    """The offset by the last answers. Written by one thread; ``best`` may be read by any, None before the first."""

    def __init__(self) -> None:
        self._last: deque[Offset] = deque(maxlen=_KEPT)
        self.best: Offset | None = None

    def heard(self, one: Offset) -> None:
        """Takes what one more answer told."""
        self._last.append(one)
        self.best = min(self._last, key=lambda each: each.error_us)
