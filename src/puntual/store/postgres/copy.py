"""Large calls go by COPY, the quickest way in; what it cannot do, a plain insert does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import asyncpg

from puntual.model.errors import StoreDataError
from puntual.model.run import NewRun, Origin
from puntual.store.postgres.errors import DATA_ERRORS, translate
from puntual.store.postgres.session import Session
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Enqueued
from puntual.store.rows.codec import new_row

#: Fewer than this are as quick by INSERT, which needs one round trip where COPY needs five.
_FEWEST: Final = 500
COLUMNS: Final = ("id", "task", "args", "queue", "priority", "max_attempts", "tags", "policy")
PLACES: Final = (0, 1, 2, 3, 4, 13, 15, 16)


def may_be_copied(runs: Sequence[NewRun]) -> bool:
    """Whether these are many, due now, and nothing but events."""
    return len(runs) >= _FEWEST and all(
        run.due_at is None
        and not run.delay_us
        and run.unique_key is None
        and run.origin is Origin.EVENT
        and run.replay_of is None
        and run.schedule is None
        for run in runs
    )


async def copy_runs(session: Session, runs: Sequence[NewRun]) -> list[Enqueued] | None:
    """Inserts all runs; None, with nothing done, if an id stands already.

    The transaction has its number when the first row takes its times from the clock: ``Session.write`` saw to that.
    """
    try:
        rows = [tuple(row[place] for place in PLACES) for row in map(new_row, runs)]
    except DATA_ERRORS as error:
        raise translate(error) from error

    async def work(tx: Tx) -> int:
        await tx.connection.copy_records_to_table("runs", schema_name="puntual", columns=COLUMNS, records=rows)
        return tx.now

    try:
        now = await session.write(work)
    except StoreDataError as error:
        if isinstance(error.__cause__, asyncpg.UniqueViolationError):
            return None
        raise
    return [Enqueued(run.id, now=now) for run in runs]
