"""What went wrong, counted to a bound from indexes that hold nothing else."""

from __future__ import annotations

import msgspec

from puntual.store.requests import MOST_COUNTED, MOST_NAMED, Tally
from puntual.store.rows.counting import bounded
from puntual.store.sqlite.transaction import Tx

_tally = msgspec.json.Decoder(Tally)


def tally(tx: Tx, since: int) -> Tally:
    """What happened from ``since`` up to now."""
    return bounded(_tally.decode(tx.text("tally", tx.now, since, MOST_COUNTED, MOST_NAMED)))
