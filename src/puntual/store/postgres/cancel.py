"""Cancel: pending runs end at once, running ones are asked to stop."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.store.postgres.transaction import Tx


async def cancel(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """As ``RunStore.cancel``."""
    raise NotImplementedError
