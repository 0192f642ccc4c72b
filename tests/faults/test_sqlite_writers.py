"""Who writes to a SQLite file is kept waiting, frozen with the lock, or killed in the middle: nothing is half done."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import puntual
from puntual.model.run import NewRun
from puntual.settings import Settings
from tests.support.cli import Cli
from tests.support.fleet import resumed
from tests.support.load import under_load
from tests.support.processes import python, shell
from tests.support.sqlite_file import BATCH, NAME, WRITER, all_is_done, check_accounts, file_server, rows_of

SEED = int(os.environ.get("FAULT_SEED", random.SystemRandom().randrange(10**6)))
#: When the lock is let go, work goes on within this; loops pause up to 5 s after errors. Seconds.
RESUMED = 6.0
RUNS = 25
STRIKES, MANY = 4, 200
CHANCE = random.Random(SEED)
HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("BEGIN EXCLUSIVE")
print("holds", flush=True)
time.sleep(600)
"""
BUSY = "Another writer holds {path} for longer than we wait: try again."

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]


async def test_a_lock_that_another_process_holds(tmp_path: Path) -> None:
    """Longer than anybody's patience and many leases: what runs goes on, everybody else says so, nothing is doubled."""
    async with file_server(tmp_path) as server:
        busy = BUSY.format(path=server.database)
        async with under_load(server.url) as load:
            await load.more(RUNS)
            run = await asyncio.to_thread(server.enqueue, "wait")
            await resumed("a run", server.effects.waited, within=RESUMED)
            with python(HOLDER, str(server.database)) as holder:
                assert holder.stdout is not None
                assert await asyncio.to_thread(holder.stdout.readline) == b"holds\n"
                said, refusal = await asyncio.gather(server.refused("enqueue", "note"), load.refused())
                assert said == refusal.message == busy
                await asyncio.to_thread(server.wait_for_log, '"heartbeat.failed"')
                before = server.executed()
            await resumed("the lock", lambda: server.executed() > before + 3, within=RESUMED)
            server.effects.let_go()
            await load.more(RUNS)
        await all_is_done(server)
    await check_accounts(load, server)
    assert server.effects.waited() == [f"{run} 1 start", f"{run} 1 end"], "what ran was killed, or run again"
    print(f"{len(load.accepted)} runs, {len(load.refusals)} refusals", file=sys.stderr)


async def test_a_process_frozen_with_the_lock(tmp_path: Path) -> None:
    """Nobody can take it away: the others wait and say so, and when it goes on, what it was writing is whole."""
    async with file_server(tmp_path) as server:
        async with under_load(server.url) as load:
            await load.more(RUNS)
            with python(WRITER, server.url) as writer:
                await frozen_with_the_lock(writer, server.database)
                await asyncio.to_thread(server.wait_for_log, '"heartbeat.failed"')
                before = server.executed()
                writer.send_signal(signal.SIGCONT)
                await resumed("the frozen", lambda: server.executed() > before + 3, within=RESUMED)
            await load.more(RUNS)
        await all_is_done(server)
    await check_accounts(load, server)
    [(written,)] = server.rows("SELECT count(*) FROM runs WHERE queue = 'bulk'")
    assert int(written) > 0
    assert int(written) % BATCH == 0, "a batch is half written"
    print(f"{len(load.accepted)} runs beside {written}", file=sys.stderr)


async def frozen_with_the_lock(writer: subprocess.Popen[bytes], database: Path) -> None:
    """Stops it, again and again, until it has stopped where nobody else can write."""
    assert writer.stdout is not None
    assert await asyncio.to_thread(writer.stdout.readline) == b"writes\n"
    async with asyncio.timeout(60):
        while True:
            await asyncio.sleep(CHANCE.uniform(0, 0.1))
            writer.send_signal(signal.SIGSTOP)
            if await asyncio.to_thread(locked, database):
                return
            writer.send_signal(signal.SIGCONT)


def locked(database: Path) -> bool:
    """Whether a lock stays away for longer than any transaction takes."""
    with closing(sqlite3.connect(database, timeout=0.5, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
    return False


class Struck:
    """Commands that are killed, each at a moment of its own.

    Args:
        cli: who is asked.
    """

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self._log = cli.folder / f"{NAME}-wal"

    async def run(self, *words: str) -> str:
        """Starts a command and kills it; what it had answered by then."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "puntual", "--json", *words,
            cwd=self.cli.folder, env=self.cli.env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            await self._moment(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            out, _ = await process.communicate()
        return out.decode()

    async def _moment(self, process: asyncio.subprocess.Process) -> None:
        """Any; or as soon as something is written, or a little later."""
        if CHANCE.random() < 0.3:
            await asyncio.sleep(CHANCE.uniform(0.1, 1.5))
            return
        before = self._written()
        while process.returncode is None and self._written() == before:
            await asyncio.sleep(0.0005)
        await asyncio.sleep(CHANCE.choice((0, 0.002, 0.008, 0.03, 0.1, 0.4)))

    def _written(self) -> list[tuple[str, int]]:
        """What the files of the folder are, and how large."""
        files = []
        with os.scandir(self.cli.folder) as found:
            for entry in found:
                # What is there only while something is done may be gone again.
                with contextlib.suppress(FileNotFoundError):
                    files.append((entry.name, entry.stat().st_size))
        return sorted(file for file in files if not file[0].endswith("-shm"))


async def test_commands_killed_in_the_middle(tmp_path: Path) -> None:
    """Whatever command dies at whatever instant: all of it is done or nothing, and the next one works.

    Each kind says how many of those that were struck had done it.
    """
    print(f"seed {SEED}", file=sys.stderr)
    kinds = (enqueued, applied, added, backed_up, migrated)
    await asyncio.to_thread(Cli(tmp_path).ask, "migrate")
    struck = []
    async with asyncio.TaskGroup() as group:
        for kind in kinds:
            (tmp_path / kind.__name__).mkdir()
            await shell(f"cp {NAME} {kind.__name__}", tmp_path)
            struck.append(group.create_task(kind(Struck(Cli(tmp_path / kind.__name__)))))
    done = {kind.__name__: task.result() for kind, task in zip(kinds, struck, strict=True)}
    print(f"of {STRIKES} killed, so many had done it: {done}", file=sys.stderr)
    assert 0 < sum(done.values()) < STRIKES * len(kinds), "all were struck too early, or too late"


async def enqueued(struck: Struck) -> int:
    """What was answered is there, and all that is there is executed, once."""
    answers = [await struck.run("enqueue", "note", "--queue", "commands") for _ in range(STRIKES)]
    accepted = {json.loads(answer)["id"] for answer in answers if answer}
    async with file_server(struck.cli.folder) as server:
        await asyncio.to_thread(server.enqueue, "note")
        await all_is_done(server)
    ended = [row[0] for row in server.rows("SELECT id FROM run_history WHERE queue = 'commands'")]
    noted = [one.run_id for one in server.effects.noted() if one.tick_at == "-"]
    assert accepted <= set(ended) <= set(noted)
    assert len(noted) == len(set(noted))
    return len(ended)


async def applied(struck: Struck) -> int:
    """All schedules and queues of a manifest, or none."""
    folder = struck.cli.folder
    for strike in range(STRIKES):
        many = {f"s{strike}-{number}": {"every": "1h", "task": "note"} for number in range(MANY)}
        told = {"queues": {f"s{strike}": {"concurrency": 3}}, "schedules": many}
        (folder / f"{strike}.json").write_text(json.dumps(told))
        await struck.run("apply", f"{strike}.json")
    schedules = Counter(str(name).partition("-")[0] for (name,) in rows_of(folder / NAME, "SELECT name FROM schedules"))
    queues = [name for (name,) in rows_of(folder / NAME, "SELECT name FROM queues WHERE name LIKE 's%'")]
    assert schedules == dict.fromkeys(queues, MANY), "a manifest is half applied"
    await asyncio.to_thread(struck.cli.ask, "apply", "0.json")
    return len(queues)


async def added(struck: Struck) -> int:
    """What was answered is there, and what is there can be read and planned."""
    answers = [
        await struck.run("schedule", "add", f"s{strike}", "--when", "@hourly", "--task", "note")
        for strike in range(STRIKES)
    ]
    there = {item["name"] for item in (await asyncio.to_thread(struck.cli.ask, "schedule", "list"))["items"]}
    assert {f"s{strike}" for strike, answer in enumerate(answers) if answer} <= there
    return len(there)


async def backed_up(struck: Struck) -> int:
    """The whole copy or none; and what was left of one is in nobody's way."""
    folder = struck.cli.folder
    async with puntual.App(Settings(database_url=f"sqlite:///{folder}/{NAME}")) as app:
        runs = [NewRun(id=app.core.new_run_id(), task="note", args=json.dumps({"n": "x" * 2000})) for _ in range(5_000)]
        await app.runs.enqueue(runs)
    done = 0
    for strike in range(STRIKES):
        copy = folder / f"copy-{strike}.db"
        await struck.run("backup", copy.name)
        if copy.exists():
            done += 1
            assert rows_of(copy, "PRAGMA integrity_check") == [("ok",)]
            assert rows_of(copy, "SELECT count(*) FROM runs") == [(len(runs),)]
            copy.unlink()
    await asyncio.to_thread(struck.cli.ask, "backup", copy.name)
    assert rows_of(copy, "PRAGMA integrity_check") == [("ok",)]
    assert not (folder / f"{copy.name}.part").exists()
    return done


async def migrated(struck: Struck) -> int:
    """A database is made and migrated, or can be."""
    done = 0
    for _ in range(STRIKES):
        for file in struck.cli.folder.glob(f"{NAME}*"):
            file.unlink()
        done += bool(await struck.run("migrate"))
        await asyncio.to_thread(struck.cli.ask, "migrate")
    assert (await asyncio.to_thread(struck.cli.ask, "doctor"))["ok"]
    return done
