"""Every connection has the same pragmas, and waits for a lock by our own clock."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.store.requests import Beat, PlanWrite, Retention
from puntual.store.sqlite import Opening, SqliteStore
from puntual.store.sqlite import connection as connections
from puntual.store.sqlite.connection import LOG_LIMIT, connect, patiently
from puntual.testing.conformance.build import LEASE, NOW, join, put, schedule

PRAGMAS = {
    "busy_timeout": 0,
    "synchronous": 2,
    "foreign_keys": 1,
    "temp_store": 2,
    "mmap_size": 0,
    "wal_autocheckpoint": 0,
    "journal_size_limit": LOG_LIMIT,
    "cache_size": -100,
}


def _busy() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error


class TestPragmas:
    """What a connection is like."""

    @pytest.mark.parametrize("query_only", [False, True])
    def test_they_are_set_on_every_connection(self, path: str, *, query_only: bool) -> None:
        """None is left to the file or to a default."""
        with closing(connect(path, cache_kb=100, query_only=query_only)) as made:
            found = {name: made.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS}
            assert found == PRAGMAS
            assert made.execute("PRAGMA query_only").fetchone() == (int(query_only),)

    def test_none_is_made_where_there_is_to_be_one(self, tmp_path: Path) -> None:
        """An empty file in the place of one that was removed would be taken for a database."""
        with pytest.raises(sqlite3.OperationalError):
            connect(str(tmp_path / "puntual.db"), cache_kb=100, create=False)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("name", ["a b?mode=ro#c.db", "%41.db", "año.db", ":x&y=z.db"])
    def test_every_name_is_that_of_a_file(self, tmp_path: Path, name: str) -> None:
        """Whatever it would mean in the address of one."""
        path = str(tmp_path / name)
        connect(path, cache_kb=100).execute("CREATE TABLE t (x)").connection.close()
        with closing(connect(path, cache_kb=100, create=False)) as made:
            assert made.execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]
        assert [file.name for file in tmp_path.iterdir()] == [name]

    async def test_a_reader_refuses_to_write(self, path: str, store: SqliteStore) -> None:
        """Only the writer's thread and heartbeats change anything."""
        with closing(connect(path, cache_kb=100, query_only=True)) as reader, pytest.raises(sqlite3.OperationalError):
            reader.execute("DELETE FROM runs")


class TestPatience:
    """Waiting for a lock."""

    def test_a_step_is_tried_until_it_works(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each pause is about a millisecond, and no two waiters keep in step."""
        pauses: list[float] = []
        monkeypatch.setattr(connections, "pause", pauses.append)
        answers = iter([True, True, True, False])
        randoms = iter([0.0, 0.5, 0.99])

        def step() -> None:
            if next(answers):
                raise _busy()

        patiently(step, lambda: next(randoms))
        assert pauses == pytest.approx([0.0005, 0.001, 0.00149])

    def test_patience_ends(self) -> None:
        """A lock that stays is an error."""

        def step() -> None:
            raise _busy()

        with pytest.raises(sqlite3.OperationalError, match="locked"):
            patiently(step, lambda: 0.5, patience=0.005)

    def test_another_error_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only a lock passes by itself."""
        monkeypatch.setattr(connections, "pause", lambda _: pytest.fail("there was nothing to wait for"))

        def step() -> None:
            raise sqlite3.OperationalError("no such table: x")

        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            patiently(step, lambda: 0.5)


class TestHeartbeatLine:
    """A thread of its own, a connection of its own."""

    async def test_it_is_opened_and_used_on_the_thread_that_beats(self, store: SqliteStore) -> None:
        """The thread needs nothing of the event loop, and may end before the line is closed."""
        await join(store)
        line = store.heartbeat_line()
        alive: list[bool] = []
        thread = threading.Thread(
            target=lambda: alive.append(line.beat(Beat(worker="w1", lease_us=LEASE, held=0)).alive)
        )
        thread.start()
        thread.join()
        line.close()
        line.close()
        assert alive == [True]

    async def test_it_waits_its_turn_behind_a_long_transaction(self, path: str) -> None:
        """A lock that another connection holds makes a beat late, not wrong."""
        waiting = threading.Event()

        def retried() -> float:
            waiting.set()
            return 0.5

        store = SqliteStore(path, clock=SystemClock(), retention=Retention(), opening=Opening(random=retried))
        await store.open()
        await join(store)
        line = store.heartbeat_line()

        def decide(*_: object) -> list[PlanWrite]:
            assert waiting.wait(10), "the beat did not come to the lock"
            return []

        await put(store, schedule())
        planning = asyncio.create_task(store.plan(decide, now=NOW))
        await asyncio.sleep(0)
        reply = await asyncio.to_thread(line.beat, Beat(worker="w1", lease_us=LEASE, held=0))
        assert (reply.alive, waiting.is_set()) == (True, True)
        await planning
        line.close()
        await store.close()
