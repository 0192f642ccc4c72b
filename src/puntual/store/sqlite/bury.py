"""A live run that nobody can read is dead, with the reason as its error, instead of blocking its lane."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.store.rows.codec import decode
from puntual.store.rows.readable import Unreadable
from puntual.store.rows.settling import Claim, buried_values
from puntual.store.sqlite.settle import end_runs
from puntual.store.sqlite.transaction import Tx


class _Live(msgspec.Struct, frozen=True, array_like=True):
    """A live run, as much of it as is needed to end it."""

    id: str
    seq: int
    schedule_id: str | None
    attempt: int
    worker: str | None
    claimed_at: int | None


_live = msgspec.json.Decoder(list[_Live])


def bury(tx: Tx, unreadable: Sequence[Unreadable]) -> int:
    """Ends live runs that cannot be worked on as dead, each with an error that says why; says how many."""
    if not unreadable:
        return 0
    why = {one.id: one.why for one in unreadable}
    texts = tx.read_rows("bury_find", [(id,) for id in why])
    found = [one for text in texts for one in decode(_live, text)]
    rows = [
        (
            one.seq,
            *buried_values(Claim(one.attempt, one.worker, one.claimed_at), why[one.id], tx.retention, tx.now),
        )
        for one in found
    ]
    end_runs(tx, rows, (one.schedule_id for one in found))
    return len(found)
