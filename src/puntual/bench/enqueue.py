"""How fast runs are accepted: one at a time, by many callers at once, in bulk from arguments, and as plain rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from puntual.app import App
from puntual.bench.context import Bench, Measured
from puntual.bench.load import Noop, add_noop, calls, new_runs
from puntual.model.call import Call
from puntual.model.run import NewRun

CALLERS: Final = 100
#: As many as the client puts into one transaction.
_CHUNK: Final = 10_000


async def single(bench: Bench) -> dict[str, Measured]:
    """One caller, who waits for each run to be on the disk before asking for the next."""
    count = bench.count(1_000, 50)

    async def work(_app: App, noop: Noop) -> None:
        for i in range(count):
            await noop.enqueue(i=i)

    return {"enqueue_single": await _best(bench, work, count, 1)}


async def concurrent(bench: Bench) -> dict[str, Measured]:
    """A hundred callers, each of whom waits for its own run; those that meet share a commit."""
    count = bench.count(30_000, 500)

    async def work(_app: App, noop: Noop) -> None:
        numbers = iter(range(count))

        async def caller() -> None:
            for i in numbers:
                await noop.enqueue(i=i)

        await asyncio.gather(*(caller() for _ in range(CALLERS)))

    return {"enqueue_concurrent": await _best(bench, work, count, CALLERS)}


async def bulk(bench: Bench) -> dict[str, Measured]:
    """From arguments: they are checked, encoded and inserted."""
    count = bench.count(200_000, 3_000)

    async def work(app: App, noop: Noop) -> None:
        made: list[Call] = calls(noop, count)
        await app.enqueue_many(made)

    return {"enqueue_bulk": await _best(bench, work, count, _CHUNK)}


async def plain(bench: Bench) -> dict[str, Measured]:
    """As rows that somebody made beforehand."""
    count = bench.count(200_000, 3_000)
    rows: list[Sequence[NewRun]] = []

    async def prepare(app: App, noop: Noop) -> None:
        rows[:] = [new_runs(app, noop, count)]

    async def work(app: App, _noop: Noop) -> None:
        await app.runs.enqueue(rows[0])

    return {"enqueue_plain": await _best(bench, work, count, _CHUNK, prepare)}


Work = Callable[[App, Noop], Awaitable[None]]


async def _best(bench: Bench, work: Work, count: int, batch: int, prepare: Work | None = None) -> Measured:
    """The best rate of some rounds, beside the best of as many floors taken in turn with them."""
    rates, floors = [], []
    for _ in bench.rounds():
        app = await bench.app()
        noop = add_noop(app)
        async with app:
            if prepare is not None:
                await prepare(app, noop)
            started = time.perf_counter()
            await work(app, noop)
            rates.append(count / (time.perf_counter() - started))
            runs = new_runs(app, noop, count)
        async with bench.home.bare() as bare:
            floors.append(count / await bare.seconds(bare.enqueue(runs, batch)))
    return Measured(max(rates), max(floors))
