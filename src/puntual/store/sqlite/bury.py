"""A live run that nobody can read is dead, with the reason as its error, instead of blocking its lane."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.attempt import Attempt, ErrorInfo, OutcomeKind
from puntual.model.payload import safe_text
from puntual.model.run import DeadReason, RunState
from puntual.store.rows.codec import decode, encode
from puntual.store.rows.readable import Unreadable
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
            str(RunState.DEAD),
            str(DeadReason.ERROR),
            tx.now,
            *(None, 0, 0, 0),
            encode([_last(one, why[one.id], tx.now)]),
            None,
            tx.expires_on(RunState.DEAD, tx.now),
        )
        for one in found
    ]
    end_runs(tx, rows, (one.schedule_id for one in found))
    return len(found)


def _last(one: _Live, why: str, now: int) -> Attempt:
    return Attempt(
        number=one.attempt,
        worker=one.worker or "",
        started_at=one.claimed_at or now,
        finished_at=now,
        outcome=OutcomeKind.FAILED,
        error=ErrorInfo("StoreDataError", f"The run cannot be worked on: {safe_text(why, limit=500)}"),
    )
