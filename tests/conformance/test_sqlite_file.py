"""What is committed to the file is there for whoever opens it next, however the process before ended."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.run import RunState
from puntual.store.contract import Store
from puntual.store.requests import Page, Retention, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import LEASE, NOW, SECOND, add, end, fetch, join, lose, new_run, start, take, uid

EVERYTHING = Page(limit=1_000)

PRELUDE = """
import asyncio, os, sys
from puntual.engine.clock import SystemClock
from puntual.store.requests import Page, Retention, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import *

async def main(path):
    store = SqliteStore(path, clock=SystemClock(), retention=Retention())
    await store.open()
"""


@asynccontextmanager
async def _opened(path: Path, *, inline: bool = False) -> AsyncIterator[Store]:
    store = SqliteStore(str(path), clock=SystemClock(), retention=Retention(), inline=inline)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def _program(steps: str) -> str:
    return PRELUDE + textwrap.indent(textwrap.dedent(steps), "    ") + "\nasyncio.run(main(sys.argv[1]))\n"


def _start(path: Path, steps: str) -> subprocess.Popen[str]:
    """A process that opens the store, takes the steps and prints what they say."""
    return subprocess.Popen(
        [sys.executable, "-c", _program(steps), str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )


def _killed_after(path: Path, steps: str) -> list[str]:
    """Runs the steps, kills the process with SIGKILL at its first sign that it is done, and gives what it printed."""
    lines = []
    with _start(path, steps) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith("done"):
                process.kill()
                break
    assert lines, "the process ended before it said anything"
    return lines


class TestKilled:
    """A process that is killed between two operations."""

    async def test_what_was_enqueued_is_there(self, tmp_path: Path) -> None:
        """An enqueue that was answered survives, without a clean close."""
        path = tmp_path / "puntual.db"
        _killed_after(
            path,
            """
            await add(store, *(new_run(number) for number in range(100)))
            print("done", flush=True)
            await asyncio.Event().wait()
            """,
        )
        async with _opened(path) as store:
            assert len((await store.list_runs(RunFilter(), EVERYTHING)).items) == 100

    async def test_what_was_claimed_is_rescued(self, tmp_path: Path) -> None:
        """A claim outlives its process, and rescue gives it to another worker, charged."""
        path = tmp_path / "puntual.db"
        _killed_after(
            path,
            """
            await start(store, *(new_run(number) for number in range(10)))
            print("done", flush=True)
            await asyncio.Event().wait()
            """,
        )
        async with _opened(path) as store:
            assert len((await store.list_runs(RunFilter(states=(RunState.RUNNING,)), EVERYTHING)).items) == 10
            assert (await store.rescue(lose, ends_until=2**62, now=NOW + LEASE + SECOND)).runs == 10
            assert (await fetch(store, uid(0))).lost == 1

    async def test_killed_in_the_middle_nothing_answered_is_lost(self, tmp_path: Path) -> None:
        """Every run whose enqueue was answered stands, and what was settled is settled, whatever was under way."""
        path = tmp_path / "puntual.db"
        lines = _killed_after(
            path,
            """
            await join(store)
            async def enqueue(first):
                for number in range(first, 100_000, 8):
                    await add(store, new_run(number))
                    print("enqueued", uid(number), flush=True)
            async def work():
                for _ in range(30):
                    for run in await take(store, limit=20):
                        await end(store, run)
                        print("settled", run.id, flush=True)
                    await asyncio.sleep(0)
                print("done", flush=True)
            await asyncio.gather(work(), *(enqueue(first) for first in range(8)))
            """,
        )
        said = [line.split() for line in lines if line != "done"]
        async with _opened(path) as store:
            runs = {run.id: run for run in (await store.list_runs(RunFilter(), Page(limit=100_000))).items}
            assert {id for word, id in said if word == "enqueued"} <= runs.keys()
            settled = {id for word, id in said if word == "settled"}
            assert settled
            assert all(runs[id].state is RunState.SUCCEEDED for id in settled)
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


class TestReopened:
    """A file that was closed and opened again."""

    async def test_everything_is_as_it_was(self, tmp_path: Path) -> None:
        """Live runs and history come back equal."""
        path = tmp_path / "puntual.db"
        async with _opened(path) as store:
            one, _ = await start(store, new_run(1), new_run(2))
            await end(store, one)
            await add(store, new_run(3, unique_key="k"))
            before = (await store.list_runs(RunFilter(), EVERYTHING)).items
        async with _opened(path) as store:
            assert (await store.list_runs(RunFilter(), EVERYTHING)).items == before
            assert await add(store, new_run(4, unique_key="k")) == [uid(3)]

    @pytest.mark.parametrize("memory", [False, True], ids=["file", "memory"])
    async def test_a_backup_opens_as_a_store(self, tmp_path: Path, *, memory: bool) -> None:
        """The copy holds what the original held, and lives on by itself."""
        async with _opened(Path(":memory:") if memory else tmp_path / "puntual.db", inline=memory) as original:
            await start(original, new_run(1))
            await original.backup(str(tmp_path / "copy.db"))
            await add(original, new_run(2))
        async with _opened(tmp_path / "copy.db") as copy:
            (run,) = (await copy.list_runs(RunFilter(), EVERYTHING)).items
            assert (await end(copy, run)).written == (uid(1),)

    async def test_a_backup_under_load_is_whole(self, tmp_path: Path) -> None:
        """A copy made while another process writes is sound and holds every run answered before."""
        path = tmp_path / "puntual.db"
        async with _opened(path) as store:
            await add(store, *(new_run(number) for number in range(500)))
            with _start(path, "for n in range(1000, 3000): await add(store, new_run(n))") as process:
                try:
                    await store.backup(str(tmp_path / "copy.db"))
                finally:
                    process.kill()
        async with _opened(tmp_path / "copy.db") as copy:
            ids = {run.id for run in (await copy.list_runs(RunFilter(), Page(limit=10_000))).items}
            assert {uid(number) for number in range(500)} <= ids


class TestProcesses:
    """Two processes on one file."""

    async def test_claimers_in_two_processes_share_no_run(self, tmp_path: Path) -> None:
        """Together they take every run, and each run goes to one of them."""
        path = tmp_path / "puntual.db"
        async with _opened(path) as store:
            await join(store, "w0", "w1")
            await add(store, *(new_run(number) for number in range(600)))
        steps = """
            import json
            print("ready", flush=True)
            name = sys.stdin.readline().strip()
            taken = []
            while runs := await take(store, name, limit=7):
                taken += [run.id for run in runs]
            await store.close()
            print(json.dumps(taken), flush=True)
            """
        with _start(path, steps) as one, _start(path, steps) as two:
            taken = _race(one, two)
        assert len(taken) == len(set(taken)) == 600

    async def test_keys_and_limits_hold_across_processes(self, tmp_path: Path) -> None:
        """Of two processes that enqueue the same keys, each key's run is made by one."""
        path = tmp_path / "puntual.db"
        async with _opened(path) as store:
            await join(store)
        steps = """
            import json
            print("ready", flush=True)
            first = 1_000 * int(sys.stdin.readline().strip()[1:])
            made = []
            for number in range(100):
                (answer,) = await store.enqueue([new_run(first + number, unique_key=f"k{number}")], now=NOW)
                made += [] if answer.existing else [number]
            await store.close()
            print(json.dumps([f"k{number}" for number in made]), flush=True)
            """
        with _start(path, steps) as one, _start(path, steps) as two:
            made = _race(one, two)
        assert sorted(made) == sorted(f"k{number}" for number in range(100))
        async with _opened(path) as store:
            assert len(await take(store, limit=1_000)) == 100


def _race(*processes: subprocess.Popen[str]) -> list[str]:
    """Lets processes that are ready go at once, and gives all that they report."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for number, process in enumerate(processes):
        assert process.stdin is not None
        process.stdin.write(f"w{number}\n")
        process.stdin.flush()
    reports = [process.communicate()[0] for process in processes]
    return [item for report in reports for item in json.loads(report)]
