"""How fast a backlog of runs that do nothing is worked off: claimed, started, ended, and written down durably."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from puntual.bench.children import Child
from puntual.bench.context import Bench, Measured
from puntual.bench.ends import CountingStore, count_ends, seconds_to_end
from puntual.bench.load import add_many, add_noop, new_runs
from puntual.model.run import NewRun

#: A ratio of two rates that are nearly the same takes more rounds.
_PAIRS: Final = 5
#: What two processes take and write in a transaction, about; nobody counts theirs.
_BATCH: Final = 500


class Drained:
    """What one drain showed."""

    def __init__(self, count: int, seconds: float, store: CountingStore) -> None:
        self.rate = count / seconds
        self.claimed = max(count // store.claims, 1)
        self.settled = max(count // store.settles, 1)


async def one_process(bench: Bench) -> dict[str, Measured]:
    """One process with every role but the API."""
    count = bench.count(60_000, 2_000)
    found, floors = [], []
    for _ in bench.rounds():
        drained, runs = await _drain(bench, count)
        found.append(drained)
        floors.append(await bare_drain(bench, runs, drained.claimed, drained.settled))
    return {"drain": Measured(max(one.rate for one in found), max(floors))}


async def in_batches(bench: Bench) -> dict[str, Measured]:
    """One process whose handler takes up to two thousand runs in one call; the floor is that of single runs."""
    count = bench.count(120_000, 4_000)
    rates, floors = [], []
    for _ in bench.rounds():
        app = await bench.app()
        many = add_many(app)
        store = count_ends(app)
        async with app:
            runs = new_runs(app, many, count)
            await app.runs.enqueue(runs)
            rates.append(count / await seconds_to_end(app, store, count))
        floors.append(await bare_drain(bench, runs, _BATCH, _BATCH))
    return {"drain_batch": Measured(max(rates), max(floors))}


async def two_processes(bench: Bench) -> dict[str, Measured]:
    """Two worker processes on one database, from the word go; the floor is one bare connection."""
    count = bench.count(60_000, 2_000)
    rates, floors = [], []
    for _ in bench.rounds():
        app = await bench.app()
        noop = add_noop(app)
        async with app:
            runs = new_runs(app, noop, count)
            await app.runs.enqueue(runs)
        rates.append(count / await _seconds_of_two(app.settings.database_url, count))
        floors.append(await bare_drain(bench, runs, _BATCH, _BATCH))
    return {"drain_two_processes": Measured(max(rates), max(floors))}


async def behind_backlog(bench: Bench) -> dict[str, Measured]:
    """The drain with a large backlog that is not due, as a share of the drain without."""
    count = bench.count(60_000, 2_000)
    future = bench.choose(1_000_000, 50_000)
    alone, behind = [], []
    for _ in bench.rounds(_PAIRS):
        alone.append((await _drain(bench, count))[0].rate)
        behind.append((await _drain(bench, count, future))[0].rate)
    return {"backlog_ratio": Measured(max(behind) / max(alone))}


async def _seconds_of_two(url: str, count: int) -> float:
    async with Child("drain", database=url) as one, Child("drain", database=url) as other:
        await asyncio.gather(one.read(), other.read())
        started = time.perf_counter()
        one.say("go")
        other.say("go")
        await _all_ended((one, other), count)
        return time.perf_counter() - started


async def _all_ended(children: Sequence[Child], count: int) -> None:
    """Reads how many each has ended, as they say it, until those are all."""
    ended = dict.fromkeys(children, 0)

    async def listen(child: Child) -> None:
        while True:
            ended[child] = int(await child.read())
            if sum(ended.values()) >= count:
                return

    listening = [asyncio.create_task(listen(child)) for child in children]
    try:
        # The last word ends it, or a child that ended before its time, which is raised.
        done, _ = await asyncio.wait(listening, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)


async def bare_drain(bench: Bench, runs: Sequence[NewRun], claimed: int, settled: int) -> float:
    """Runs per second of the statements alone."""
    async with bench.home.bare() as bare:
        await bare.seconds(bare.enqueue(runs, len(runs)))
        return len(runs) / await bare.seconds(bare.drain(runs, claimed, settled))


async def _drain(bench: Bench, count: int, future: int = 0) -> tuple[Drained, Sequence[NewRun]]:
    app = await bench.app()
    noop = add_noop(app)
    store = count_ends(app)
    async with app:
        if future:
            await bench.home.add_future(app.settings.database_url, future, app.clock.now())
        runs = new_runs(app, noop, count)
        await app.runs.enqueue(runs)
        seconds = await seconds_to_end(app, store, count)
    return Drained(count, seconds, store), runs
