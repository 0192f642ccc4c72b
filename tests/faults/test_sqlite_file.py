"""The file of a server is full, copied, taken away, scribbled over or held open: it is said, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import puntual
from puntual.model.errors import StoreFullError, StoreUnavailableError
from puntual.model.run import NewRun
from puntual.settings import Settings
from puntual.store.sqlite.connection import LOG_LIMIT
from tests.support.disk import fill, small_disk
from tests.support.fleet import resumed
from tests.support.load import under_load
from tests.support.processes import python, shell
from tests.support.sqlite_file import LEASE, NAME, WRITER, FileServer, all_is_done, check_accounts, file_server, rows_of

MIB = 1 << 20
#: When there is room again, work goes on within this; loops pause up to 5 s after errors. Seconds.
RESUMED = 6.0
#: A server notices within this that its file is another; it looks once a second. Seconds.
NOTICED = 6.0
RUNS = 25
FEW = 10
#: Runs of `Work` each time, and how often.
MANY, ROUNDS = 500, 7
#: Bytes that are written while a reader holds its snapshot.
BALLAST = LOG_LIMIT
#: A log that a reader made grow is cut when the writer has moved it: within so many runs.
CUT_WITHIN = 20_000
READER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM runs").fetchone()
print("reads", flush=True)
time.sleep(600)
"""
#: Waits until the log has been moved into the database and begun anew: what is copied then belongs to another moment.
LOG_BEGINS_ANEW = """
head() { command head -c 32 puntual.db-wal | md5sum; }
was=$(head); until [ "$(head)" != "$was" ]; do sleep 0.05; done
"""

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]


class Room:
    """What a database has to grow in, and how it is taken and given."""

    sentence: str
    error: type[StoreUnavailableError]

    def take(self, server: FileServer) -> None:
        """Nothing fits any more."""
        raise NotImplementedError

    def give(self, server: FileServer) -> None:
        """There is room again."""
        raise NotImplementedError


class Disk(Room):
    """A small file system, which is filled."""

    sentence = "The disk that holds {path} is full: nothing was written; make room and try again."
    error = StoreFullError

    def take(self, server: FileServer) -> None:
        """As `Room.take`."""
        fill(server.database.parent)

    def give(self, server: FileServer) -> None:
        """As `Room.give`."""
        (server.database.parent / "ballast").unlink()


class Limit(Room):
    """The largest file that a process may write (RLIMIT_FSIZE): every system has it, and nobody has to be root."""

    sentence = (
        "{path} cannot be read or written (disk I/O error): see to its disk, and to quotas and limits on the size of"
        " files."
    )
    error = StoreUnavailableError

    def take(self, server: FileServer) -> None:
        """As `Room.take`."""
        log = server.database.with_name(f"{server.database.name}-wal")
        self._set(server, log.stat().st_size + 1)

    def give(self, server: FileServer) -> None:
        """As `Room.give`."""
        self._set(server, None)

    def _set(self, server: FileServer, most: int | None) -> None:
        """None is as much as the system lets them."""
        assert server.process is not None
        for process in (server.process.pid, os.getpid()):
            _, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
            resource.prlimit(process, resource.RLIMIT_FSIZE, (hard if most is None else most, hard))


@contextmanager
def disk(folder: Path) -> Iterator[tuple[Path, Room]]:
    """A folder on a disk of its own."""
    with small_disk(folder / "small", 16 * MIB) as small:
        yield small, Disk()


@contextmanager
def limit(folder: Path) -> Iterator[tuple[Path, Room]]:
    """A folder on the disk that there is."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield folder, Limit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [disk, limit])
async def test_no_room_is_said_and_stood(
    room: Callable[[Path], AbstractContextManager[tuple[Path, Room]]], tmp_path: Path
) -> None:
    """What does not fit is refused in one sentence; when there is room, what was accepted runs and more is accepted."""
    with ExitStack() as stack:
        folder, space = stack.enter_context(room(tmp_path))
        async with file_server(tmp_path, folder / "puntual.db") as server:
            said = space.sentence.format(path=server.database)
            async with under_load(server.url) as load:
                await load.more(RUNS)
                run = await asyncio.to_thread(server.enqueue, "wait")
                await resumed("a run", server.effects.waited, within=RESUMED)
                await asyncio.to_thread(space.take, server)
                load.padding = 30_000
                while not isinstance(refusal := await load.refused(), space.error):
                    pass
                assert refusal.message == said
                await server.is_ready(wanted=False)
                assert await server.refused("enqueue", "note") == said
                await asyncio.sleep(2 * LEASE)
                server.effects.let_go()
                before = server.executed()
                await asyncio.to_thread(space.give, server)
                await resumed("room", lambda: server.executed() > before + 3, within=RESUMED)
                load.padding = 0
                await load.more(RUNS)
                await server.is_ready(wanted=True)
            await all_is_done(server)
        await check_accounts(load, server)
    assert server.effects.waited() == [f"{run} 1 start", f"{run} 1 end"], "what ran was killed, or run again"
    print(f"{len(load.accepted)} runs, {len(load.refusals)} refusals", file=sys.stderr)


async def test_copies_made_meanwhile(tmp_path: Path) -> None:
    """A backup has every run accepted before it, and works; a plain copy works or is refused, and harms nobody."""
    backup, copies = tmp_path / "backup.db", (tmp_path / "quick", tmp_path / "torn")
    async with file_server(tmp_path) as server:
        async with under_load(server.url) as load:
            await load.more(RUNS)
            before = set(load.accepted)
            done = await asyncio.to_thread(server.run, "backup", str(backup))
            assert done.returncode == 0, done
            with python(WRITER, server.url):
                for folder, pause in zip(copies, ("true", LOG_BEGINS_ANEW), strict=True):
                    folder.mkdir()
                    await shell(f"cp puntual.db {folder}\n{pause}\ncp puntual.db-wal puntual.db-shm {folder}", tmp_path)
            for folder in copies:
                await plain_copy_works_or_is_refused(folder)
        await all_is_done(server)
    await check_accounts(load, server)
    assert {row[0] for row in rows_of(backup, "SELECT id FROM runs UNION SELECT id FROM run_history")} >= before
    assert rows_of(backup, "PRAGMA integrity_check") == [("ok",)]
    (restored := tmp_path / "restored").mkdir()
    backup.rename(restored / NAME)
    async with file_server(restored) as server:
        await resumed("a backup", server.effects.noted, within=RESUMED)
        await all_is_done(server)


async def plain_copy_works_or_is_refused(folder: Path) -> None:
    """Nothing in between: a server on it works, or what is wrong is said in a sentence by it or by the doctor."""
    with FileServer(folder) as server:
        server.start()
        assert server.process is not None
        while server.process.poll() is None and not server.said("serve.started"):
            await asyncio.sleep(0.02)
        if server.process.poll() is None:
            _, said = await asyncio.to_thread(server.healthy)
            await asyncio.to_thread(server.stop)
        else:
            assert server.process.returncode == 1
            said = server.log.read_text().splitlines()[-1]
        print(f"{folder.name}: {said or 'works'}", file=sys.stderr)
        assert not said or "damaged" in said
        assert "Traceback" not in server.log.read_text()


class Harm(NamedTuple):
    """What is done to the files of a running server, and what it says then."""

    line: str
    said: str
    #: What a command says that begins afterwards; None where it cannot know.
    refused: str | None = None


HARMS = {
    "removed": Harm("rm puntual.db", "was removed or replaced", "is gone or empty"),
    "copied over": Harm("cp backup.db puntual.db", "was overwritten or cut", "which belongs to another file"),
    "cut": Harm("sleep 1.2; truncate -s $(($(stat -c %s puntual.db) / 2)) puntual.db", "was overwritten or cut"),
    "garbage": Harm(
        "head -c 300000 /dev/urandom > puntual.db", "was overwritten or cut", "which belongs to another file"
    ),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
async def test_a_file_that_is_no_longer_the_one(harm: Harm, tmp_path: Path) -> None:
    """It is said in a sentence, nothing more is accepted, and nothing is written into what is there."""
    async with file_server(tmp_path) as server, under_load(server.url) as load:
        await load.more(FEW)
        done = await asyncio.to_thread(server.run, "backup", "backup.db")
        assert done.returncode == 0, done
        await shell(harm.line, tmp_path)
        await shell("sha256sum puntual.db > harmed.sum || true", tmp_path)
        async with asyncio.timeout(NOTICED):
            while harm.said not in (await load.refused()).message:
                pass
        await server.is_ready(wanted=False)
        await asyncio.to_thread(server.wait_for_log, harm.said)
        accepted = len(load.accepted)
        if harm.refused is not None:
            assert harm.refused in await server.refused("enqueue", "note")
        await load.refused()
        await load.refused()
        assert len(load.accepted) == accepted
    assert "Traceback" not in server.log.read_text()
    await shell("if [ -s harmed.sum ]; then sha256sum --check --quiet harmed.sum; else ! ls puntual.db; fi", tmp_path)


async def test_a_restored_file_works_again(tmp_path: Path) -> None:
    """As the docs have it: stop, replace, start; and what was accepted before the backup runs."""
    async with file_server(tmp_path) as server, under_load(server.url) as load:
        await load.hold()
        await load.more(FEW)
        before = set(load.accepted)
        done = await asyncio.to_thread(server.run, "backup", "backup.db")
        assert done.returncode == 0, done
        await shell("cp /dev/null puntual.db", tmp_path)
        await server.is_ready(wanted=False)
    await shell("rm -f puntual.db puntual.db-wal puntual.db-shm; cp backup.db puntual.db", tmp_path)
    async with file_server(tmp_path) as server:
        assert (await asyncio.to_thread(server.run, "queue", "resume", "commands")).returncode == 0
        await resumed("restored", lambda: server.executed() > 1, within=RESUMED)
        await all_is_done(server)
    assert {row[0] for row in server.rows("SELECT id FROM run_history")} >= before


async def test_a_snapshot_that_is_held_open(tmp_path: Path) -> None:
    """What a long read costs is a log of what is written meanwhile, which is cut afterwards; claims stay quick."""
    log = tmp_path / f"{NAME}-wal"
    async with file_server(tmp_path) as server, puntual.App(Settings(database_url=server.url)) as app:
        work = Work(app, server)
        before = await work.fastest()
        with python(READER, str(server.database)) as reader:
            assert reader.stdout is not None
            assert await asyncio.to_thread(reader.stdout.readline) == b"reads\n"
            size, done = log.stat().st_size, work.done
            await work.ballast(BALLAST)
            during = await work.fastest()
            grown, done = log.stat().st_size - size, work.done - done
            assert log.stat().st_size > LOG_LIMIT
        after = work.done
        while log.stat().st_size > LOG_LIMIT:
            await work.once()
            assert work.done - after < CUT_WITHIN, "the log is not cut"
    print(f"{BALLAST} bytes and {done} runs: {grown} of log, cut after {work.done - after} runs more", file=sys.stderr)
    assert grown < BALLAST * 1.2 + done * 5_000
    print(f"{MANY} runs in {before:.2f} s at best, meanwhile in {during:.2f} s", file=sys.stderr)
    assert during < 4 * before


class Work:
    """Runs that do next to nothing, and how long they take.

    Args:
        app: a client.
        server: who executes them.
    """

    def __init__(self, app: puntual.App, server: FileServer) -> None:
        self._app = app
        self._server = server
        self.done = 0

    async def fastest(self) -> float:
        """Seconds that it takes at best: of several times, the one in which nobody else had the machine."""
        return min([await self.once() for _ in range(ROUNDS)])

    async def once(self) -> float:
        """Seconds that it takes until they are executed."""
        began = time.perf_counter()
        before = len(self._server.effects.noted())
        await self._app.runs.enqueue([NewRun(id=self._app.core.new_run_id(), task="note") for _ in range(MANY)])
        while len(self._server.effects.noted()) < before + MANY:
            await asyncio.sleep(0.01)
        self.done += MANY
        return time.perf_counter() - began

    async def ballast(self, size: int) -> None:
        """Writes so many bytes, in runs that nobody knows."""
        args = json.dumps({"ballast": "x" * (size // 200)})
        for _ in range(200):
            run = NewRun(id=self._app.core.new_run_id(), task="nobody-knows", args=args)
            await self._app.runs.enqueue([run])
