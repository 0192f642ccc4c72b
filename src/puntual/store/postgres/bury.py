"""A live run that nobody can read is dead, with the reason as its error, instead of blocking its lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from puntual.model.attempt import Attempt, ErrorInfo, OutcomeKind
from puntual.model.payload import safe_text
from puntual.model.run import DeadReason, RunState
from puntual.store.postgres.settle import end_runs
from puntual.store.postgres.transaction import Tx
from puntual.store.rows.codec import encode
from puntual.store.rows.readable import Unreadable

if TYPE_CHECKING:
    from asyncpg import Record


async def bury(tx: Tx, unreadable: Sequence[Unreadable]) -> int:
    """Ends live runs that cannot be worked on as dead, each with an error that says why; says how many."""
    if not unreadable:
        return 0
    why = {one.id: one.why for one in unreadable}
    found = await tx.rows("bury_find", sorted(why))
    rows = [
        (
            *(one["id"], one["attempt"], one["worker"], one["cancel_requested"]),
            str(RunState.DEAD),
            str(DeadReason.ERROR),
            tx.now,
            *(None, 0, 0, 0),
            encode([_last(one, why[one["id"]], tx.now)]),
            None,
            tx.expires_on(RunState.DEAD, tx.now),
        )
        for one in found
    ]
    return len((await end_runs(tx, rows)).written)


def _last(one: Record, why: str, now: int) -> Attempt:
    return Attempt(
        number=one["attempt"],
        worker=one["worker"] or "",
        started_at=one["claimed_at"] or now,
        finished_at=now,
        outcome=OutcomeKind.FAILED,
        error=ErrorInfo("StoreDataError", f"The run cannot be worked on: {safe_text(why, limit=500)}"),
    )
