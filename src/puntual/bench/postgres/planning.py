"""Very many schedules: how late they fire when they are spread, and whether planning one costs more among a million."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import asyncpg

from puntual.app import App
from puntual.bench.context import Bench, Measured, percentile
from puntual.bench.schedules import TASK, Ticks, warm
from puntual.engine.plan import plan
from puntual.manifest import read_schedule
from puntual.model.handle import Run
from puntual.model.schedule import Pause
from puntual.store.requests import PlanView, PlanWrite

_MINUTE_US: Final = 60_000_000
_CHUNK: Final = 1_000
_FEW: Final = 10_000
_DAY_US: Final = 86_400_000_000
#: Copies one schedule under other names, each with a look at its own moment of the next day.
_COPY: Final = """
INSERT INTO puntual.schedules
SELECT
    s.id || '-' || i, s.name || '-' || i, s.owner, s.revision, s.spec, s.created_at, s.updated_at, s.pause,
    s.look_at + $2::bigint * i, s.next_tick_at + $2::bigint * i, s.next_due_at + $2::bigint * i, s.last_tick_at,
    s.last_number, s.seen_at, s.caught_up, s.stretch, s.trouble
FROM puntual.schedules AS s, generate_series(1, $1::integer) AS i
"""
_MAKE_DUE: Final = """
UPDATE puntual.schedules SET look_at = puntual.now_us(), next_tick_at = puntual.now_us(), next_due_at = puntual.now_us()
WHERE name IN (SELECT name FROM puntual.schedules ORDER BY look_at DESC LIMIT $1)
"""


async def hundred_thousand(bench: Bench) -> dict[str, Measured]:
    """Each fires once a minute, at its own moment of it; a whole minute is watched.

    Raises:
        RuntimeError: a tick was missed, or ran twice.
    """
    count = bench.choose(100_000, 500)
    app = await bench.app()
    ticks = Ticks()

    @app.task(name=TASK)
    async def tick(run: Run) -> None:
        ticks.note(run.row.schedule or "", run.row.tick_at or 0, run.row.due_at, app.clock.now())

    async with app:
        await _put(bench, app, count)
        async with app.running():
            await warm(app, ticks)
            # What came due while the schedules were being written is not what is measured.
            await asyncio.sleep(bench.choose(45, 2))
            since = app.clock.now()
            await asyncio.sleep(bench.choose(75, 65))
    late = [ticks.late[key] for key, due_at in ticks.due.items() if since <= due_at < since + _MINUTE_US]
    doubled = sum(times > 1 for times in ticks.seen.values())
    if doubled or len(late) < count:
        raise RuntimeError(f"of {count} ticks in a minute {len(late)} ran, and {doubled} ran twice")
    return {"schedules_100k_p99_ms": Measured(percentile(late, 99))}


async def million(bench: Bench) -> dict[str, Measured]:
    """Schedules that fire once a day: as many of them are made due, and planned, in a small and in a large table."""
    due = bench.choose(5_000, 200)
    small = await _seconds_to_plan(bench, bench.choose(_FEW, 1_000), due)
    large = await _seconds_to_plan(bench, bench.choose(1_000_000, 5_000), due)
    return {"plan_million_ratio": Measured(large / small)}


async def _put(bench: Bench, app: App, count: int) -> None:
    fields = {"every": "1m", "spread": "1m", "task": TASK}
    context = app.context()
    for start in range(0, count, _CHUNK):
        names = [f"bench-{number:06d}" for number in range(start, min(start + _CHUNK, count))]
        await app.schedules.put_many([read_schedule(name, fields, context) for name in names])
        bench.progress(start, count)


async def _seconds_to_plan(bench: Bench, count: int, due: int) -> float:
    app = await bench.app()

    @app.task(name=TASK)
    async def tick() -> None:
        """Is never run here."""

    async with app:
        fields = {"every": "1d", "task": TASK, "timezone": "UTC"}
        await app.schedules.put_many([read_schedule("bench", fields, app.context())])
        connection = await asyncpg.connect(app.settings.database_url)
        try:
            await connection.execute(_COPY, count - 1, max(_DAY_US // count, 1))
            await connection.execute("VACUUM ANALYZE puntual.schedules")
            await connection.execute(_MAKE_DUE, due)
        finally:
            await connection.close()
        started = time.perf_counter()
        while (await app.store.plan(_decide)).full:
            pass
        return time.perf_counter() - started


def _decide(views: Sequence[PlanView], pause: Pause | None, now: int) -> list[PlanWrite]:
    return [plan(view, pause, now) for view in views]
