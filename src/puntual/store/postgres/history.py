"""Prune: a day of history is folded into stretches and dropped, with its partition."""

from __future__ import annotations

from puntual.store.postgres.transaction import Tx


async def prune(tx: Tx, limit: int) -> int:
    """Removes what has expired; says how many rows those were."""
    raise NotImplementedError
