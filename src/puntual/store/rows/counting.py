"""What was counted no further than a bound is told as such."""

from __future__ import annotations

import msgspec

from puntual.store.requests import MOST_COUNTED, Counted, Tally


def bounded(tally: Tally) -> Tally:
    """A tally whose kinds were counted to one more than ``MOST_COUNTED``, each cut to that."""
    return msgspec.structs.replace(
        tally,
        dead=_cut(tally.dead),
        retrying=_cut(tally.retrying),
        missed=_cut(tally.missed),
        late=_cut(tally.late),
        unplanned=_cut(tally.unplanned),
    )


def _cut(counted: Counted) -> Counted:
    if counted.count <= MOST_COUNTED:
        return counted
    return msgspec.structs.replace(counted, count=MOST_COUNTED, at_least=True)
