"""What went wrong, counted to a bound from indexes that hold nothing else."""

from __future__ import annotations

import msgspec

from puntual.store.postgres.transaction import Tx
from puntual.store.requests import MOST_COUNTED, MOST_NAMED, Tally
from puntual.store.rows.codec import decode
from puntual.store.rows.counting import bounded

_tally = msgspec.json.Decoder(Tally)


async def tally(tx: Tx, since: int) -> Tally:
    """What happened from ``since`` up to now."""
    return bounded(decode(_tally, await tx.text("tally", tx.now, since, MOST_COUNTED, MOST_NAMED)))
