"""The upkeep lease: one process does the upkeep, and any other takes over when it falls silent.

It only saves work: every duty is safe to be done twice, so it needs no term. A finished round renews it, nothing else
does, and each duty has a time limit of its own, so that a holder that hangs loses it. Who could not do the first duty
stands aside for a moment, or it would have the lease again before anybody else has asked for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from puntual.model.payload import safe_text
from puntual.store.contract import Store

#: A lease is renewed this many times in its life.
_ROUNDS_PER_LEASE = 3
#: A worker without the scheduler's role rescues when no holder has been seen for this many leases.
_PATIENCE = 2
#: What a duty may take, in leases.
_FIRST = 1 / 2
_OTHERS = 1 / 6
#: For how many leases who could not do the first stands aside: all others ask meanwhile. Not for the others: the first
#: takes what it did long ago for an outage, and would come to nothing in a lease that goes round.
_ASIDE = 0.4

log = structlog.get_logger("puntual.engine")


class Upkeep:
    """Runs the duties while it holds the lease; ``holding`` says whether it does, as far as it knows.

    Args:
        store: where the lease is.
        holder: this process.
        lease: seconds.
        duties: name to what to do. The first may take half a lease, each other a sixth, so that rounds stay close
            enough together for the first to tell its own absence; one that fails holds up no other.
        reserve: True for a worker that is no scheduler: it takes the lease only after nobody had it for two leases.
    """

    def __init__(
        self,
        store: Store,
        holder: str,
        *,
        lease: float,
        duties: Mapping[str, Callable[[], Awaitable[None]]],
        reserve: bool,
    ) -> None:
        self._store = store
        self._holder = holder
        self._lease = lease
        self._duties = duties
        self._reserve = reserve
        self._aside_until = 0.0
        self._trouble: Exception | None = None
        self.holding = False

    async def step(self) -> float:
        """One round, if the lease is ours or can be had; it is renewed when every duty has finished, else given up.

        Raises:
            PuntualError: a duty failed, just now or a moment ago; the others were done.
        """
        now = asyncio.get_running_loop().time
        if self._trouble is not None and now() < self._aside_until:
            raise self._trouble
        if self.holding or await self._hold():
            self.holding = True
            parts = (_FIRST, *[_OTHERS] * len(self._duties))
            ends = [
                await self._do(name, duty, self._lease * part)
                for (name, duty), part in zip(self._duties.items(), parts, strict=False)
            ]
            failure = next((error for error in ends if error is not None), None)
            if failure is not None or not await self._hold():
                await self.resign()
            self._trouble = ends[0]
            self._aside_until = now() + self._lease * _ASIDE
            if failure is not None:
                raise failure
        return self._lease / _ROUNDS_PER_LEASE

    async def resign(self) -> None:
        """Gives the lease back, so that the next holder need not wait for its end."""
        if self.holding:
            self.holding = False
            await self._store.resign_upkeep(self._holder)

    async def _hold(self) -> bool:
        lease_us = int(self._lease * 1_000_000)
        patience_us = _PATIENCE * lease_us if self._reserve and not self.holding else 0
        return await self._store.hold_upkeep(self._holder, lease_us=lease_us, patience_us=patience_us)

    async def _do(self, name: str, duty: Callable[[], Awaitable[None]], limit: float) -> Exception | None:
        """Why the duty failed, if it did."""
        try:
            async with asyncio.timeout(limit):
                await duty()
        except Exception as error:  # noqa: BLE001 - one duty's trouble is not the others'
            log.warning("upkeep.failed", duty=name, error=safe_text(error, limit=500) or type(error).__name__)
            return error
        return None
