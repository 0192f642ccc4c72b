"""Workers: a lease ends when rescue ends it here, and what its holder had goes on in the same transaction."""

from __future__ import annotations

from puntual.model.fleet import Worker
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Beat, BeatReply, DecideLost, Rescued


async def register(tx: Tx, worker: Worker, lease_us: int) -> int:
    """Writes the lease row of a worker."""
    raise NotImplementedError


async def end(tx: Tx, worker_id: str) -> None:
    """Ends a worker's own lease."""
    raise NotImplementedError


async def drain(tx: Tx, worker_id: str) -> bool:
    """Marks a worker as draining."""
    raise NotImplementedError


async def list_live(tx: Tx) -> list[Worker]:
    """Workers whose lease is not over."""
    raise NotImplementedError


async def beat(tx: Tx, beat: Beat) -> BeatReply:
    """Renews a lease that is not over, and tells what its worker must know."""
    raise NotImplementedError


async def rescue(tx: Tx, decide: DecideLost, limit: int, ends_until: int | None) -> Rescued:
    """Ends overdue leases, then settles what nobody alive holds any more."""
    raise NotImplementedError


async def hold_upkeep(tx: Tx, holder: str, lease_us: int, patience_us: int) -> bool:
    """Takes or renews the upkeep lease."""
    raise NotImplementedError


async def resign_upkeep(tx: Tx, holder: str) -> None:
    """Gives the upkeep lease back."""
    raise NotImplementedError
