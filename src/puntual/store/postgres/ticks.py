"""The tick record: every planned tick once, alone with its run or inside a stretch, newest first."""

from __future__ import annotations

from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Page, TickFilter, TickPage


async def list_ticks(tx: Tx, where: TickFilter, page: Page) -> TickPage:
    """One page."""
    raise NotImplementedError
