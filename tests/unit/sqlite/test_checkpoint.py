"""The log is moved into the database by one connection at a time, and an idle or closed store leaves a small one."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.store.requests import Retention
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.checkpoint import Checkpointer
from puntual.store.sqlite.connection import LOG_LIMIT, connect
from puntual.testing.conformance.build import add, new_run


@pytest.fixture
def connection(path: str) -> Iterator[sqlite3.Connection]:
    """A connection to a file with a log."""
    with closing(connect(path, cache_kb=1000)) as made:
        made.execute("PRAGMA journal_mode = WAL").fetchall()
        made.execute("CREATE TABLE kept (x)")
        yield made


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """As another process that is at its checkpoint."""
    handle = os.open(f"{path}.checkpoint.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _refusing(number: int) -> Callable[[int, int], None]:
    def refuse(_handle: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


def _log(path: str) -> int:
    return Path(f"{path}-wal").stat().st_size


def _fill(connection: sqlite3.Connection, rows: int = 12_000) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO kept VALUES (?)", [("x" * 500,)] * rows)
    connection.execute("COMMIT")


class TestCheckpointer:
    """When and by whom."""

    def test_a_large_log_is_moved(self, connection: sqlite3.Connection, path: str) -> None:
        """After enough rows its place is used again, and the file stops growing."""
        checkpointer = Checkpointer(path)
        for _ in range(5):
            _fill(connection)
            checkpointer.committed(connection)
        size = _log(path)
        _fill(connection)
        assert _log(path) == size

    def test_a_small_log_is_left(self, connection: sqlite3.Connection, path: str) -> None:
        """Nothing is moved for a few rows."""
        checkpointer = Checkpointer(path)
        connection.execute("INSERT INTO kept VALUES (1)")
        checkpointer.committed(connection)
        assert not Path(f"{path}.checkpoint.lock").exists()

    def test_whoever_finds_the_lock_taken_leaves_it_to_the_other(
        self, connection: sqlite3.Connection, path: str
    ) -> None:
        """Two that checkpoint at once can lose a log in older SQLite; here the second goes on at once."""
        _fill(connection)
        size = _log(path)
        with _locked(path):
            Checkpointer(path).run(connection, "TRUNCATE")
        assert _log(path) == size
        Checkpointer(path).run(connection, "TRUNCATE")
        assert _log(path) == 0

    def test_a_reader_does_not_make_it_fail(self, connection: sqlite3.Connection, path: str) -> None:
        """What a snapshot still needs stays until the next time."""
        with closing(connect(path, cache_kb=100, query_only=True)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM kept").fetchone()
            _fill(connection)
            Checkpointer(path).run(connection, "TRUNCATE")
            assert reader.execute("SELECT count(*) FROM kept").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (12_000,)

    def test_a_log_that_a_reader_made_grow_is_cut(self, connection: sqlite3.Connection, path: str) -> None:
        """What a backup of minutes held back does not stay on the disk for ever."""
        with closing(connect(path, cache_kb=100, query_only=True)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM kept").fetchone()
            _fill(connection, 40_000)
            assert _log(path) > LOG_LIMIT
        Checkpointer(path).run(connection, "PASSIVE")
        _fill(connection, 1)
        assert _log(path) <= LOG_LIMIT

    @pytest.mark.parametrize("number", [errno.ENOLCK, errno.EINTR, errno.EOPNOTSUPP])
    def test_a_lock_that_the_system_refuses_stops_nothing(
        self, connection: sqlite3.Connection, path: str, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        """It is as if somebody else were at it."""
        _fill(connection)
        size = _log(path)
        monkeypatch.setattr(fcntl, "flock", _refusing(number))
        checkpointer = Checkpointer(path)
        checkpointer.run(connection, "TRUNCATE")
        checkpointer.committed(connection)
        assert _log(path) == size

    def test_a_folder_that_takes_no_lock_file_stops_nothing(self, connection: sqlite3.Connection, path: str) -> None:
        """Without a lock nothing is moved, and nothing is raised."""
        Path(f"{path}.checkpoint.lock").mkdir()
        _fill(connection)
        Checkpointer(path).run(connection, "PASSIVE")


class TestStore:
    """What a store leaves on the disk."""

    async def test_the_log_stays_bounded(self, path: str, store: SqliteStore) -> None:
        """However much is written, a store moves its log on the way."""
        for first in range(0, 60_000, 3_000):
            await add(store, *(new_run(number) for number in range(first, first + 3_000)))
        assert _log(path) < 16 * 1024 * 1024

    async def test_a_closed_store_leaves_no_log(self, path: str) -> None:
        """The file alone is the database: it can be copied."""
        store = SqliteStore(path, clock=SystemClock(), retention=Retention())
        await store.open()
        await add(store, new_run(1))
        await store.close()
        with _everything_in(path) as names:
            assert names <= {"puntual.db", "puntual.db.checkpoint.lock"}


@contextmanager
def _everything_in(path: str) -> Iterator[set[str]]:
    yield {file.name for file in Path(path).parent.iterdir()}
