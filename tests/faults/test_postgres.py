"""PostgreSQL crashes, is cut off, runs out of disk, loses its pooler: nothing is lost, and work resumes by itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from puntual.model.errors import StoreFullError
from tests.support.disk import fill, small_disk
from tests.support.health import ready
from tests.support.load import check_all_ended_once, under_load
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import PostgresServer, free_port, running_server
from tests.support.proxy import Proxy
from tests.support.served import Served

CRASHES = int(os.environ.get("FAULT_CRASHES", "5"))
CUT_SECONDS = float(os.environ.get("FAULT_CUT_SECONDS", "10"))
POOLER_RESTARTS = int(os.environ.get("FAULT_POOLER_RESTARTS", "5"))
SEED = int(os.environ.get("FAULT_SEED", random.SystemRandom().randrange(10**6)))
#: What is done between two faults.
RUNS = 25
#: What waits when the disk is full.
BACKLOG = 300
MIB = 1 << 20
FULL = "The database's disk is full: nothing was written; make room and try again."

pytestmark = [pytest.mark.fault, pytest.mark.timeout(600)]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that loses nothing when it is killed."""
    with running_server(durable=True) as server:
        yield server


class Node(Served):
    """A ``puntual serve`` on PostgreSQL, and what its health says."""

    def __init__(self, folder: Path, url: str, **settings: str) -> None:
        self.port = free_port()
        wanted = {"ALLOW_COMMANDS": "/bin/sh", "LEASE_TTL": "3s", "PORT": str(self.port), "DATABASE_URL": url}
        super().__init__(folder, **{**wanted, **settings})

    def ready(self) -> tuple[bool, str]:
        """Whether ``/readyz`` is content, and the sentences of what is not."""
        return ready(self.port)

    async def is_ready(self, *, wanted: bool) -> str:
        """Returns when its health says so, with what it says; it never ends meanwhile."""
        async with asyncio.timeout(60):
            while True:
                assert self.process is not None
                assert self.process.poll() is None, "the node has ended"
                ok, text = await asyncio.to_thread(self.ready)
                if ok == wanted:
                    return text
                await asyncio.sleep(0.05)

    async def doctor(self, **settings: str) -> str:
        """What ``puntual doctor`` finds wrong, asked in this environment and with these settings beside."""
        other = Served(self.folder, **{**self.settings, **settings})
        done = await asyncio.to_thread(other.run, "doctor", "--json")
        checks = json.loads(done.stdout)["checks"]
        wrong = " ".join(check["text"] for check in checks if check["level"] == "bad")
        assert done.returncode == bool(wrong)
        return wrong


@asynccontextmanager
async def node(folder: Path, url: str, **settings: str) -> AsyncIterator[Node]:
    """A server on a migrated database, which ends in order when it is asked to."""
    with Node(folder, url, **settings) as served:
        done = await asyncio.to_thread(served.run, "migrate")
        assert done.returncode == 0, done.stderr
        served.start()
        await asyncio.to_thread(served.wait_for_log, "serve.started")
        yield served
        assert served.process is not None
        assert served.process.poll() is None, "the node has ended"
        assert await asyncio.to_thread(served.stop) == 0


def revive(server: PostgresServer) -> None:
    """Starts it again, as soon as what was left of it lets go of its memory."""
    for attempt in range(20):
        try:
            server.start()
        except AssertionError:
            if attempt == 19:
                raise
        else:
            return


async def test_crashes_of_the_database_under_load(server: PostgresServer, tmp_path: Path) -> None:
    """The postmaster is killed again and again; health and doctor say so, and nobody has to do anything else."""
    async with node(tmp_path, server.url()) as served:
        async with under_load(server.url()) as load:
            for crash in range(CRASHES):
                await load.more(RUNS)
                await asyncio.to_thread(server.stop, (signal.SIGQUIT, signal.SIGKILL)[crash % 2])
                said = await served.is_ready(wanted=False)
                assert "The database does not answer." in said
                if crash < 2:
                    assert "PostgreSQL at 127.0.0.1" in await served.doctor()
                assert "PostgreSQL" in (await load.refused()).message
                await asyncio.to_thread(revive, server)
                await served.is_ready(wanted=True)
            await load.more(RUNS)
            assert not await served.doctor()
        await check_all_ended_once(load, server.url(), tmp_path)
    print(f"{CRASHES} crashes, {len(load.accepted)} runs, {len(load.refusals)} refusals", file=sys.stderr)


async def test_connections_cut_at_random_under_load(server: PostgresServer, tmp_path: Path) -> None:
    """Now all of them at once, now one at any message, before or after its answer: as if a line were bad."""
    print(f"seed {SEED}", file=sys.stderr)
    chance = random.Random(SEED)
    cuts = 0
    async with Proxy(server.port) as line, node(tmp_path, line.through(server.url())) as served:
        line.latency = 0.001
        async with under_load(line.through(server.url())) as load, asyncio.timeout(CUT_SECONDS * 3 + 60):
            await load.more(RUNS)
            until = asyncio.get_running_loop().time() + CUT_SECONDS
            while asyncio.get_running_loop().time() < until:
                cuts += 1
                if chance.random() < 0.3:
                    line.reset()
                else:
                    line.cut_at(chance.randrange(100), answered=chance.random() < 0.5)
                await asyncio.sleep(chance.uniform(0.02, 0.4))
            line.disarm()
            await load.more(RUNS)
        await served.is_ready(wanted=True)
        await check_all_ended_once(load, server.url(), tmp_path)
    print(f"{cuts} cuts, {len(load.accepted)} runs, {len(load.refusals)} refusals", file=sys.stderr)


async def test_a_pooler_that_is_restarted_under_load(server: PostgresServer, tmp_path: Path) -> None:
    """In transaction mode, LISTEN_URL past it: while it is away health says so, and then all goes on."""
    port = free_port()
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    wanted = {"listen_port": str(port)}
    with ExitStack() as stack:
        stack.enter_context(pgbouncer(server.port, wanted))
        settings = {"POOLER": "transaction", "LISTEN_URL": server.url()}
        async with node(tmp_path, url, **settings) as served:
            async with under_load(url, listen_url=server.url()) as load:
                for _ in range(POOLER_RESTARTS):
                    await load.more(RUNS)
                    stack.close()
                    assert "The database does not answer." in await served.is_ready(wanted=False)
                    await load.refused()
                    stack.enter_context(pgbouncer(server.port, wanted))
                    await served.is_ready(wanted=True)
                await load.more(RUNS)
            await check_all_ended_once(load, server.url(), tmp_path)
    print(f"{POOLER_RESTARTS} restarts, {len(load.accepted)} runs, {len(load.refusals)} refusals", file=sys.stderr)


async def test_a_full_disk_is_said_and_stood(server: PostgresServer, tmp_path: Path) -> None:
    """What does not fit is refused in one sentence; when there is room, what was accepted runs and more is accepted."""
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(server.folder / "small", 48 * MIB))
        stack.callback(server.stop)
        await asyncio.to_thread(server.execute, f"CREATE TABLESPACE small LOCATION '{disk}'")
        await asyncio.to_thread(server.execute, "CREATE DATABASE jobs TABLESPACE small")
        url = server.url("jobs")
        async with node(tmp_path, url) as served:
            created = await asyncio.to_thread(served.run, "token", "create", "--scope", "admin", "--json")
            token = json.loads(created.stdout)["token"]
            async with under_load(url) as load:
                await load.more(RUNS)
                await load.hold()
                await load.more(BACKLOG)
                await load.let_go()
                ballast = await asyncio.to_thread(fill, disk)
                load.padding = 30_000
                while not isinstance(refusal := await load.refused(), StoreFullError):
                    pass
                assert refusal.message == FULL
                await served.is_ready(wanted=False)
                assert FULL in await served.doctor(SERVER=f"http://127.0.0.1:{served.port}", TOKEN=token)
                await asyncio.to_thread(ballast.unlink)
                await load.more(RUNS)
                await served.is_ready(wanted=True)
            await check_all_ended_once(load, url, tmp_path)
    print(f"{len(load.accepted)} runs, {len(load.refusals)} refusals", file=sys.stderr)


async def test_a_disk_that_is_full_of_wal_is_stood(tmp_path: Path) -> None:
    """PostgreSQL itself ends then; once there is room and it is started again, everything goes on."""
    server = PostgresServer(durable=True, settings={"max_wal_size": "48MB", "min_wal_size": "32MB"})
    with ExitStack() as stack:
        stack.callback(server.close)
        server.init()
        disk = stack.enter_context(small_disk(server.folder / "small", 96 * MIB))
        stack.callback(server.stop)
        shutil.copytree(server.data / "pg_wal", disk / "pg_wal")
        shutil.rmtree(server.data / "pg_wal")
        (server.data / "pg_wal").symlink_to(disk / "pg_wal")
        for path in (disk / "pg_wal").rglob("*"):
            shutil.chown(path, disk.stat().st_uid, disk.stat().st_gid)
        shutil.chown(disk / "pg_wal", disk.stat().st_uid, disk.stat().st_gid)
        server.start()
        async with node(tmp_path, server.url()) as served:
            async with under_load(server.url()) as load:
                await load.more(RUNS)
                ballast = await asyncio.to_thread(fill, disk)
                load.padding = 60_000
                await until_it_panics(server)
                assert "The database does not answer." in await served.is_ready(wanted=False)
                assert "PostgreSQL" in await served.doctor()
                await load.refused()
                await asyncio.to_thread(ballast.unlink)
                # PostgreSQL 18 that is asked to end in order while it recovers may wait for its checkpointer for ever.
                await asyncio.to_thread(server.stop, signal.SIGQUIT)
                await asyncio.to_thread(revive, server)
                await load.more(RUNS)
                await served.is_ready(wanted=True)
            await check_all_ended_once(load, server.url(), tmp_path)
    print(f"{len(load.accepted)} runs, {len(load.refusals)} refusals", file=sys.stderr)


async def until_it_panics(server: PostgresServer) -> None:
    """Has it begin one file of its log after another, until there is no room for one."""
    with contextlib.suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        connection = await asyncpg.connect(server.url())
        while True:
            await connection.execute("SELECT pg_switch_wal()")
            await connection.execute("SELECT pg_logical_emit_message(true, 'puntual', 'a word')")
