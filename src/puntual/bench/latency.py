"""How late runs start: one that is asked for now, and thousands that are due at one instant."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Final

from puntual.app import App
from puntual.bench.context import Bench, Measured, percentile, until
from puntual.bench.load import add_noop, new_runs
from puntual.model.run import NewRun

_BETWEEN: Final = 0.005
_AHEAD_US: Final = 4_000_000
_LOOK: Final = 0.05
#: Runs from which a worker learns how long they take, and so how many to claim ahead.
_WARM: Final = 200
_PROBE: Final = "bench.probe"


async def pickup(bench: Bench) -> dict[str, Measured]:
    """From before the enqueue to the handler's first line, one at a time on a worker that has nothing else to do.

    The floor is the median of the two durable commits between: the enqueue's and the claim's.
    """
    count = bench.count(1_000, 50)
    app = await bench.app()
    started: asyncio.Queue[float] = asyncio.Queue()

    @app.task(name=_PROBE)
    async def probe() -> None:
        started.put_nowait(time.perf_counter())

    times = []
    async with app.running():
        for _ in range(_WARM // 10):
            await probe.enqueue()
            await started.get()
        for number in range(count):
            await asyncio.sleep(_BETWEEN)
            before = time.perf_counter()
            await probe.enqueue()
            times.append((await started.get() - before) * 1000)
            if number % 100 == 0:
                bench.progress(number, count)
    floor = await _two_commits(bench, min(count, 200))
    return {
        "pickup_p50_ms": Measured(statistics.median(times), floor),
        "pickup_p99_ms": Measured(percentile(times, 99), floor),
    }


async def burst(bench: Bench) -> dict[str, Measured]:
    """Runs asked for beforehand and all due at one instant: how long after it the handlers' first lines are reached."""
    count = bench.count(10_000, 500)
    middle, worst = [], []
    for _ in bench.rounds():
        late = await _lateness(await bench.app(), count)
        middle.append(statistics.median(late))
        worst.append(percentile(late, 99))
    return {"burst_p50_ms": Measured(min(middle)), "burst_p99_ms": Measured(min(worst))}


async def _lateness(app: App, count: int) -> list[float]:
    """How late each run of a burst began, milliseconds, on a worker that has done a little before."""
    started: list[int] = []

    @app.task(name=_PROBE)
    async def probe() -> None:
        started.append(app.clock.now())

    async with app.running():
        await _enqueue(app, _WARM, None)
        await until(lambda: len(started) >= _WARM, _LOOK)
        started.clear()
        due_at = app.clock.now() + _AHEAD_US
        await _enqueue(app, count, due_at)
        await until(lambda: len(started) >= count, _LOOK)
    return [(now - due_at) / 1000 for now in started]


async def _enqueue(app: App, count: int, due_at: int | None) -> None:
    core = app.core
    await app.runs.enqueue([NewRun(id=core.new_run_id(), task=_PROBE, due_at=due_at) for _ in range(count)])


async def _two_commits(bench: Bench, count: int) -> float:
    """Milliseconds."""
    app = await bench.app()
    runs = new_runs(app, add_noop(app), count)
    times = []
    async with bench.home.bare() as bare:
        for transaction, claim in zip(bare.enqueue(runs, 1), bare.drain(runs, 1, 1)[::2], strict=True):
            times.append(await bare.seconds([transaction, claim]) * 1000)
    return statistics.median(times)
