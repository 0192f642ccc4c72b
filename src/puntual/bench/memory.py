"""How much memory the processes hold, and whether it grows with the runs that have passed through."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from puntual.bench.children import Child, Program
from puntual.bench.context import Bench, Measured
from puntual.bench.load import add_noop, calls
from puntual.model.run import RunState
from puntual.store.requests import Page, RunFilter

_LOOK = 0.05
_MB = 1024 * 1024
_LIVE = RunFilter(states=(RunState.PENDING, RunState.RUNNING))


async def growth(bench: Bench) -> dict[str, Measured]:
    """A process of its own; its memory after 200,000 runs less that after 20,000."""
    step, first, last = (bench.choose(*sizes) for sizes in ((5_000, 500), (20_000, 1_000), (200_000, 3_000)))
    async with Child("grow", database=await bench.home.database(), step=step, first=first, last=last) as child:
        before, after = (await child.read()).split()
    return {"rss_growth_mb": Measured((int(after) - int(before)) / _MB)}


async def worker(bench: Bench) -> dict[str, Measured]:
    """``puntual worker`` after it has executed a thousand runs."""
    return {"worker_rss_mb": Measured(await _after_some_runs(bench, "worker"))}


async def serve(bench: Bench) -> dict[str, Measured]:
    """``puntual serve`` with its API up, after it has executed a thousand runs."""
    return {"serve_rss_mb": Measured(await _after_some_runs(bench, "serve", "--port", "0"))}


async def _after_some_runs(bench: Bench, *command: str) -> float:
    app = await bench.app()
    noop = add_noop(app)
    arguments = (*command, "--app", "puntual.bench.load:app")
    async with app:
        await app.enqueue_many(calls(noop, 1_000))
        async with Program(bench.folder, app.settings.database_url, *arguments) as program:
            while program.alive() and await app.runs.find(_LIVE, Page(limit=1)):  # noqa: ASYNC110 - another process has no event to wait for
                await asyncio.sleep(_LOOK)
            return resident(program.pid) / _MB


def resident(pid: int) -> int:
    """The bytes of memory that a process holds."""
    if sys.platform == "linux":
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    kilobytes = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True, text=True)  # noqa: S603, S607 - a number that the system gave us
    return int(kilobytes.stdout) * 1024
