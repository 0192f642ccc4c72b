"""What went wrong since an instant, counted without reading what went well."""

from __future__ import annotations

from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Tally


async def tally(tx: Tx, since: int) -> Tally:
    """As ``AdminStore.tally``."""
    raise NotImplementedError
