"""A live run that nobody can read is dead, with the reason as its error, instead of blocking its lane."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.store.postgres.settle import end_runs
from puntual.store.postgres.transaction import Tx
from puntual.store.rows.readable import Unreadable
from puntual.store.rows.settling import Claim, buried_values


async def bury(tx: Tx, unreadable: Sequence[Unreadable]) -> int:
    """Ends live runs that cannot be worked on as dead, each with an error that says why; says how many."""
    if not unreadable:
        return 0
    why = {one.id: one.why for one in unreadable}
    found = await tx.rows("bury_find", sorted(why))
    rows = [
        (
            *(one["id"], one["attempt"], one["worker"], one["cancel_requested"]),
            *buried_values(
                Claim(one["attempt"], one["worker"], one["claimed_at"]), why[one["id"]], tx.retention, tx.now
            ),
        )
        for one in found
    ]
    return len((await end_runs(tx, rows)).written)
