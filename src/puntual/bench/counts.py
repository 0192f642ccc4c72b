"""What is not noisy: statements that an idle process makes, and commits that runs cost."""

from __future__ import annotations

from puntual.bench.children import Child
from puntual.bench.context import Bench, Measured


async def idle(bench: Bench) -> dict[str, Measured]:
    """Statements per second of workers that find nothing to do: one on SQLite, twenty on PostgreSQL; one plans."""
    workers = 1 if bench.home.kind == "sqlite" else 20
    seconds = bench.choose(10, 2)
    async with Child("idle", database=await bench.home.database(), count=workers, seconds=seconds) as child:
        return {"idle_statements_per_second": Measured(int(await child.read()) / seconds)}


async def commits(bench: Bench) -> dict[str, Measured]:
    """Commits from the enqueue of a backlog until its last run is written down."""
    count = bench.count(20_000, 2_000)
    async with Child("commits", database=await bench.home.database(), count=count) as child:
        return {"commits_per_1000_runs": Measured(int(await child.read()) * 1000 / count)}
