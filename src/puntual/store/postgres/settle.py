"""Settle: one guarded write for each claim; what ended moves to history, what goes on is put back."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.store.postgres.session import Session
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Settled, Settlement


async def settle(session: Session, settlements: Sequence[Settlement], *, now: int | None) -> Settled:
    """As ``RunStore.settle``; a batch that fails on data is done again, carefully: nothing of it was written."""
    raise NotImplementedError


async def settle_carefully(tx: Tx, settlements: Sequence[Settlement]) -> Settled:
    """As ``settle``, inside a transaction: a batch that fails on data is halved until the bad rows are alone."""
    raise NotImplementedError
