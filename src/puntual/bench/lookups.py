"""What looking costs on large tables: a sweep past a million rows, and pages of lists."""

from __future__ import annotations

import statistics
import time
from typing import Final

from puntual.app import App
from puntual.bench.context import Bench, Measured, percentile
from puntual.bench.load import NOOP, add_noop
from puntual.model.fleet import Worker
from puntual.model.run import NewRun, Priority, RunState
from puntual.store.requests import ClaimRequest, Page, RunFilter

_LEASE_US: Final = 60_000_000
_WORKER: Final = "sweeper"
_UNKNOWN: Final = "bench.unknown"


async def sweep(bench: Bench) -> dict[str, Measured]:
    """A sweep that finds nothing: ten lanes of runs not due, and one headed by runs of a task that nobody knows."""
    app = await bench.app()
    add_noop(app)
    times = []
    async with app:
        await _fill_lanes(bench, app)
        await _register(app)
        request = ClaimRequest(worker=_WORKER, limit=2_000, tasks=(NOOP,), sweep=True)
        for _ in range(bench.choose(20, 3)):
            before = time.perf_counter()
            claimed = await app.store.claim(request)
            times.append((time.perf_counter() - before) * 1000)
            assert not claimed.runs
    return {"sweep_ms": Measured(statistics.median(times))}


async def lists(bench: Bench) -> dict[str, Measured]:
    """Pages of a hundred runs, by each filter, from the newest and from the middle of history."""
    app = await bench.app()
    times = []
    async with app:
        await bench.home.add_history(app.settings.database_url, bench.choose(1_000_000, 10_000), app.clock.now())
        for where in (
            RunFilter(),
            RunFilter(states=(RunState.DEAD,)),
            RunFilter(states=(RunState.SUCCEEDED,), queues=("queue-3",)),
            RunFilter(tasks=(NOOP,)),
            RunFilter(tags=("bench",)),
        ):
            for _ in range(bench.choose(5, 1)):
                page = Page()
                for _ in range(5):
                    before = time.perf_counter()
                    part = await app.store.list_runs(where, page)
                    times.append((time.perf_counter() - before) * 1000)
                    if part.next is None:
                        break
                    page = Page(after=part.next)
    return {"list_p95_ms": Measured(percentile(times, 95))}


async def _fill_lanes(bench: Bench, app: App) -> None:
    now = app.clock.now()
    await bench.home.add_future(app.settings.database_url, bench.choose(1_000_000, 50_000), now)
    core = app.core
    lanes = [NewRun(id=core.new_run_id(), task=NOOP, queue=f"queue-{n}", due_at=now + _LEASE_US) for n in range(10)]
    unknown = bench.choose(20_000, 500)
    strangers = [
        NewRun(id=core.new_run_id(), task=_UNKNOWN, queue="queue-0", priority=Priority.HIGH) for _ in range(unknown)
    ]
    await app.runs.enqueue([*lanes, *strangers])


async def _register(app: App) -> None:
    now = app.clock.now()
    worker = Worker(
        id=_WORKER,
        host="",
        pid=0,
        roles=("worker",),
        queues=None,
        tasks=(NOOP,),
        concurrency=100,
        started_at=now,
        seen_at=now,
        lease_until=now,
        version="",
    )
    await app.store.register_worker(worker, lease_us=_LEASE_US)
