"""A backfill on PostgreSQL: repeats find their runs, live or in history."""

from __future__ import annotations

import puntual
from puntual.model.instant import MINUTE
from puntual.model.run import Origin
from puntual.settings import Settings
from puntual.store.requests import Page, RunFilter


async def test_a_repeat_makes_nothing_twice(url: str) -> None:
    """Some of its runs are over, and what was not asked for before is made."""
    app = puntual.App(Settings(database_url=url))
    async with app:
        await app.schedules.put("often", every="1m", anchor="2026-01-01T00:00:00Z", task="t")
        now = await app.store.now()
        since, until = now - 1_500 * MINUTE, now - 5 * MINUTE
        first = await app.schedules.backfill("often", since=since + 500 * MINUTE, until=until)
        runs = await app.store.list_runs(RunFilter(origins=(Origin.BACKFILL,)), Page(limit=300))
        await app.runs.cancel(*(run.id for run in runs.items))
        dry = await app.schedules.backfill("often", since=since, until=until, dry_run=True)
        again = await app.schedules.backfill("often", since=since, until=until)
    assert (first.runs, first.existing) == (995, 0)
    assert (dry.runs, dry.existing) == (again.runs, again.existing) == (500, 995)
