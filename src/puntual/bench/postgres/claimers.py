"""Many claimers at once on one backlog, and what one claim touches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final

import asyncpg

from puntual.bench.context import Bench, Measured
from puntual.bench.load import NOOP, add_noop, new_runs
from puntual.model.fleet import Worker
from puntual.store.postgres import Place, PostgresStore
from puntual.store.requests import ClaimRequest

_LEASE_US: Final = 600_000_000
_LIMIT: Final = 100
_FEW, _MANY = 4, 64
#: The part of a backlog that is left when the claimers are stopped.
_LEFT: Final = 4
_TOUCHED: Final = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"


async def many(bench: Bench) -> dict[str, Measured]:
    """Each with a connection of its own, claiming a hundred runs at a time until nothing is left."""
    count = bench.count(120_000, 10_000)
    rates: Mapping[int, list[float]] = {_FEW: [], _MANY: []}
    for _ in bench.rounds():
        for claimers, found in rates.items():
            url = await _backlog(bench, count)
            found.append(await _rate(url, claimers, count))
    return {"claimers_64_ratio": Measured(max(rates[_MANY]) / max(rates[_FEW]))}


async def buffers(bench: Bench) -> dict[str, Measured]:
    """Counted by the server over a backlog that one claimer takes."""
    count = bench.count(50_000, 2_000)
    url = await _backlog(bench, count)
    connection = await asyncpg.connect(url)
    try:
        before = await connection.fetchval(_TOUCHED)
        await _rate(url, 1, count)
        # A connection that is closed has told what it touched.
        after = await connection.fetchval(_TOUCHED)
    finally:
        await connection.close()
    return {"buffers_per_claim": Measured((after - before) / ((count - count // _LEFT) / _LIMIT))}


async def _backlog(bench: Bench, count: int) -> str:
    app = await bench.app()
    async with app:
        await app.runs.enqueue(new_runs(app, add_noop(app), count))
    return app.settings.database_url


async def _rate(url: str, claimers: int, count: int) -> float:
    """Runs claimed per second."""
    async with AsyncExitStack() as stack:
        stores = [await _claimer(stack, url, number) for number in range(claimers)]
        left = count

        async def claim(store: PostgresStore, worker: str) -> None:
            nonlocal left
            request = ClaimRequest(worker=worker, limit=_LIMIT, tasks=(NOOP,))
            while left > end:
                taken = await store.claim(request)
                left -= len(taken.runs)

        # Each finds its place in the backlog first, as a worker that has been there for a while has.
        for number, store in enumerate(stores):
            first = ClaimRequest(worker=f"claimer-{number}", limit=_LIMIT, tasks=(NOOP,))
            claimed = await store.claim(first)
            left -= len(claimed.runs)
        # What is measured is claiming from a backlog, not hunting for the last runs of one.
        end = count // _LEFT
        begun = left
        started = time.perf_counter()
        await asyncio.gather(*(claim(store, f"claimer-{number}") for number, store in enumerate(stores)))
        return (begun - left) / (time.perf_counter() - started)


async def _claimer(stack: AsyncExitStack, url: str, number: int) -> PostgresStore:
    store = PostgresStore(Place(url=url, most=1))
    await store.open()
    stack.push_async_callback(store.close)
    now = await store.now()
    worker = Worker(
        id=f"claimer-{number}",
        host="",
        pid=0,
        roles=("worker",),
        queues=None,
        tasks=(NOOP,),
        concurrency=_LIMIT,
        started_at=now,
        seen_at=now,
        lease_until=now,
        version="",
    )
    await store.register_worker(worker, lease_us=_LEASE_US)
    return store
