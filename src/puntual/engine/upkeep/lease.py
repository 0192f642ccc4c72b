"""The upkeep lease: one process does the upkeep, and any other takes over when it falls silent.

It only saves work: every duty is safe to be done twice, so it needs no term. A finished round renews it, nothing else
does, and each duty has a time limit of its own, so that a holder that hangs loses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from puntual.model.clock import Clock
from puntual.store.contract import Store

#: A lease is renewed this many times in its life.
_ROUNDS_PER_LEASE = 3
#: A worker without the scheduler's role rescues when no holder has been seen for this many leases.
_PATIENCE = 2

log = structlog.get_logger("puntual.engine")


class Upkeep:
    """Runs the duties while it holds the lease.

    Args:
        store: where the lease is.
        holder: this process.
        lease: seconds.
        duties: name to what to do; each is bounded by half a lease.
        reserve: True for a worker that is no scheduler: it does the upkeep only when nobody else has for two leases.
    """

    def __init__(
        self,
        store: Store,
        holder: str,
        *,
        clock: Clock,
        lease: float,
        duties: Mapping[str, Callable[[], Awaitable[None]]],
    ) -> None:
        self._store = store
        self._holder = holder
        self._clock = clock
        self._lease = lease
        self._duties = duties
        self._alone_since: float | None = None
        self.reserve = False
        self.holding = False

    async def step(self) -> float:
        """One round, if the lease can be had."""
        pause = self._lease / _ROUNDS_PER_LEASE
        if self.reserve and not await self._nobody_else():
            return pause
        self.holding = await self._store.hold_upkeep(self._holder, lease_us=int(self._lease * 1_000_000))
        if self.holding:
            for name, duty in self._duties.items():
                await self._do(name, duty)
        return pause

    async def resign(self) -> None:
        """Gives the lease back, so that the next holder need not wait for its end."""
        if self.holding:
            self.holding = False
            await self._store.resign_upkeep(self._holder)

    async def _do(self, name: str, duty: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(self._lease / 2):
                await duty()
        except TimeoutError:
            log.warning("upkeep.slow", duty=name, limit_s=self._lease / 2)

    async def _nobody_else(self) -> bool:
        if self.holding:
            return True
        snapshot = await self._store.snapshot()
        now = self._clock.steady()
        if snapshot.upkeep_until is not None and snapshot.upkeep_until > snapshot.now:
            self._alone_since = None
            return False
        if self._alone_since is None:
            self._alone_since = now
        return now - self._alone_since >= _PATIENCE * self._lease
