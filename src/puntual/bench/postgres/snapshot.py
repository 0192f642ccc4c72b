"""What a drain loses to a snapshot that somebody holds open elsewhere: a dump, an analyst."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import asyncpg

from puntual.bench.context import Bench, Measured
from puntual.bench.ends import count_ends
from puntual.bench.load import add_noop, new_runs

_CHUNK: Final = 50_000
#: The share of all runs that the start and the end are measured over.
_PART: Final = 0.2
_LOOK: Final = 0.01


async def held(bench: Bench) -> dict[str, Measured]:
    """No dead row may be removed meanwhile, so that whoever scans from the beginning meets them all."""
    count = bench.count(500_000, 5_000)
    app = await bench.app()
    noop = add_noop(app)
    store = count_ends(app)
    async with app:
        for _ in range(0, count, _CHUNK):
            await app.runs.enqueue(new_runs(app, noop, min(_CHUNK, count)))
        connection = await asyncpg.connect(app.settings.database_url)
        try:
            async with connection.transaction(isolation="repeatable_read"):
                await connection.fetchval("SELECT count(*) FROM puntual.workers")
                times = []
                async with app.running():
                    while store.ended < count:
                        await asyncio.sleep(_LOOK)
                        times.append((time.perf_counter(), store.ended))
        finally:
            await connection.close()
    part = int(count * _PART)
    return {"snapshot_ratio": Measured(_rate(times, count - part, count) / _rate(times, 0, part))}


def _rate(times: list[tuple[float, int]], first: int, last: int) -> float:
    """Runs per second between two numbers of runs that had ended."""
    since, before = next((at, ended) for at, ended in times if ended > first)
    until, after = next((at, ended) for at, ended in times if ended >= last)
    return (after - before) / max(until - since, _LOOK)
