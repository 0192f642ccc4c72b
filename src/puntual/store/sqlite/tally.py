"""What went wrong, counted to a bound from indexes that hold nothing else."""

from __future__ import annotations

import msgspec

from puntual.store.requests import MOST_COUNTED, MOST_NAMED, Counted, Tally
from puntual.store.sqlite.transaction import Tx

_tally = msgspec.json.Decoder(Tally)


def tally(tx: Tx, since: int) -> Tally:
    """What happened from ``since`` up to now."""
    found = _tally.decode(tx.text("tally", tx.now, since, MOST_COUNTED, MOST_NAMED))
    return msgspec.structs.replace(
        found,
        dead=_bounded(found.dead),
        retrying=_bounded(found.retrying),
        missed=_bounded(found.missed),
        late=_bounded(found.late),
        unplanned=_bounded(found.unplanned),
    )


def _bounded(counted: Counted) -> Counted:
    """What was cut is told as such."""
    if counted.count <= MOST_COUNTED:
        return counted
    return msgspec.structs.replace(counted, count=MOST_COUNTED, at_least=True)
