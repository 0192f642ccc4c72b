"""What a run costs that is not noisy: bytes of the write-ahead log."""

from __future__ import annotations

import asyncpg

from puntual.bench.context import Bench, Measured
from puntual.bench.ends import count_ends, seconds_to_end
from puntual.bench.load import add_noop, calls

_WHERE = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


async def wal(bench: Bench) -> dict[str, Measured]:
    """From the enqueue of a backlog until its last run is written down, everything included that happened meanwhile."""
    count = bench.count(50_000, 2_000)
    app = await bench.app()
    noop = add_noop(app)
    store = count_ends(app)
    connection = await asyncpg.connect(app.settings.database_url)
    try:
        async with app:
            # Pages that are written for the first time since a checkpoint go into the log whole: that is not the runs'.
            await connection.execute("CHECKPOINT")
            before = await connection.fetchval(_WHERE)
            await app.enqueue_many(calls(noop, count))
            await seconds_to_end(app, store, count)
            after = await connection.fetchval(_WHERE)
    finally:
        await connection.close()
    return {"wal_bytes_per_run": Measured(float(after - before) / count)}
