"""A live run that nobody can read is dead, with the reason as its error, instead of blocking its lane."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.store.postgres.transaction import Tx
from puntual.store.rows.readable import Unreadable


async def bury(tx: Tx, unreadable: Sequence[Unreadable]) -> int:
    """Ends live runs that cannot be worked on as dead, each with an error that says why; says how many."""
    raise NotImplementedError
