"""A server on a SQLite file that a test harms: what it says meanwhile, and what it has accounted for afterwards."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import puntual
from puntual.model.run import RunState
from puntual.model.schedule import Fate
from puntual.settings import Settings
from tests.support.fleet import Effects, Member
from tests.support.health import ready
from tests.support.load import Load, check_ends
from tests.support.postgres import free_port
from tests.support.ticks import all_ticks, check_record

LEASE = 1.0
SECOND = 1_000_000
NAME = "puntual.db"
BEAT = {"schedules": {"beat": {"every": "1s", "task": "note", "misfire_policy": "fire_all", "overlap": "allow_all"}}}

#: A process that writes as fast as it can, runs that nobody knows, so many in each transaction.
BATCH = 1000
WRITER = f"""
import asyncio, sys
import puntual
from puntual.model.run import NewRun
from puntual.settings import Settings

async def main():
    async with puntual.App(Settings(database_url=sys.argv[1])) as app:
        print("writes", flush=True)
        while True:
            ids = [app.core.new_run_id() for _ in range({BATCH})]
            await app.runs.enqueue([NewRun(id=each, task="nobody-knows", queue="bulk") for each in ids])

asyncio.run(main())
"""


class FileServer(Member):
    """A ``puntual serve`` with a schedule of one tick a second, and commands for a load.

    Args:
        folder: where it works, and what its tasks write.
        database: its file; one in that folder if not given.
        name: of its log.
        settings: as for ``Served``.
    """

    def __init__(self, folder: Path, database: Path | None = None, name: str = "serve", **settings: str) -> None:
        self.port = free_port()
        self.database = database or folder / NAME
        #: Up to this instant all that was to be done is done.
        self.done_until = 0
        self.effects = Effects(folder)
        usual = {
            "ALLOW_COMMANDS": "/bin/sh",
            "DATABASE_URL": self.url,
            "LEASE_TTL": f"{LEASE:g}s",
            "PORT": str(self.port),
        }
        super().__init__(folder, name, None, **{**usual, **settings})

    @property
    def url(self) -> str:
        """Of its database."""
        return f"sqlite:///{self.database}"

    async def begin(self) -> None:
        """Starts it, with its schedule; returns when it serves."""
        (self.folder / "beat.json").write_text(json.dumps(BEAT))
        self.start("--apply", "beat.json")
        await asyncio.to_thread(self.wait_for_log, "serve.started")

    async def end(self) -> None:
        """It still lives, and ends in order when it is asked to."""
        self.lives()
        assert self.process is not None
        assert await asyncio.to_thread(self.stop) == 0

    async def is_ready(self, *, wanted: bool) -> str:
        """Returns when its health says so, with what it says; it lives meanwhile."""
        async with asyncio.timeout(60):
            while True:
                self.lives()
                good, text = await asyncio.to_thread(ready, self.port)
                if good == wanted:
                    return text
                await asyncio.sleep(0.02)

    async def refused(self, *words: str) -> str:
        """The sentence with which a command fails."""
        done = await asyncio.to_thread(self.run, *words, "--json")
        assert done.returncode == 1, done
        assert done.stderr == "", done.stderr
        return str(json.loads(done.stdout)["error"]["message"])

    def rows(self, statement: str) -> list[tuple[str | int, ...]]:
        """What a statement reads, through a connection of the test's own."""
        return rows_of(self.database, statement)

    def healthy(self) -> tuple[bool, str]:
        """Whether ``puntual doctor`` finds nothing wrong, and what it finds."""
        done = self.run("doctor", "--json")
        wrong = " ".join(check["text"] for check in json.loads(done.stdout)["checks"] if check["level"] == "bad")
        assert done.returncode == bool(wrong)
        return not wrong, wrong

    def executed(self) -> int:
        """How many ticks and commands were executed."""
        done = self.folder / "done.txt"
        return len(self.effects.noted()) + (done.read_text().count("\n") if done.exists() else 0)


def rows_of(database: Path, statement: str) -> list[tuple[str | int, ...]]:
    """What a statement reads in a file, which is not written."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        return connection.execute(statement).fetchall()


@asynccontextmanager
async def file_server(folder: Path, database: Path | None = None, **settings: str) -> AsyncIterator[FileServer]:
    """One that serves while inside, and has to be alive in the end."""
    with FileServer(folder, database, **settings) as server:
        await server.begin()
        yield server
        await server.end()


async def all_is_done(server: FileServer) -> None:
    """Returns when nothing of the load is live, nor any tick of the time before."""
    now = server.done_until = time.time_ns() // 1000  # noqa: TID251 - the server's clock is this machine's
    left = f"""
        SELECT EXISTS (SELECT 1 FROM runs WHERE queue = 'commands' OR tick_at <= {now})
            OR NOT EXISTS (SELECT 1 FROM run_history WHERE tick_at > {now})
    """  # noqa: S608 - a number
    async with asyncio.timeout(60):
        while server.rows(left) != [(0,)]:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


async def check_accounts(load: Load, server: FileServer) -> None:
    """Every accepted run has ended once, and every tick ran once, by the store and by what was written outside.

    The server has ended.
    """
    history = server.rows("SELECT id, state FROM run_history WHERE queue = 'commands'")
    check_ends(load, [(str(row[0]), str(row[1])) for row in history], server.folder)
    assert server.rows("PRAGMA integrity_check") == [("ok",)]
    await check_ticks(server)


async def check_ticks(server: FileServer) -> None:
    """The record has each tick, and up to when all was done each has succeeded; none ran as two runs."""
    async with puntual.App(Settings(database_url=server.url)) as app:
        ticks = await all_ticks(app, "beat")
    check_record(ticks, SECOND)
    server.effects.check()
    assert {tick.fate for tick in ticks} <= {Fate.RAN, Fate.PLANNED}
    noted = {one.run_id for one in server.effects.noted()}
    assert noted <= {tick.run_id for tick in ticks if tick.fate is Fate.RAN}
    past = [tick for tick in ticks if tick.tick_at <= server.done_until]
    assert {tick.run_state for tick in past} == {RunState.SUCCEEDED}, "a tick has not succeeded"
    assert {tick.run_id for tick in past} <= noted, "a tick has succeeded that nobody executed"
