"""An interval's ticks lie on the grid anchor + k x period, for every whole k: no restart or slow run can make it drift.

The period is time that elapses: "every 1 day" anchored at 09:00 in New York comes at 10:00 in summer. Who wants 09:00
on the wall writes a cron rule.
"""

from __future__ import annotations

from puntual.model.instant import EARLIEST, LATEST, Instant


class IntervalTicks:
    """The ticks of one grid, within the years 1 to 9999."""

    __slots__ = ("_period", "_phase")

    def __init__(self, period_us: int, anchor: Instant) -> None:
        self._period = period_us
        self._phase = anchor % period_us

    def next(self, after: Instant) -> Instant | None:
        """The earliest tick strictly later than ``after``."""
        after = max(after, EARLIEST - 1)
        tick = after + self._period - (after - self._phase) % self._period
        return tick if tick <= LATEST else None

    def previous(self, at: Instant) -> Instant | None:
        """The latest tick at or before ``at``."""
        at = min(at, LATEST)
        tick = at - (at - self._phase) % self._period
        return tick if tick >= EARLIEST else None

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many ticks lie after ``after`` and up to ``until``, exact up to ``cap``."""
        after, until = max(after, EARLIEST - 1), min(until, LATEST)
        if until <= after:
            return 0
        total = (until - self._phase) // self._period - (after - self._phase) // self._period
        return min(total, cap)
