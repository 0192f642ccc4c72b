"""Migrations are applied once, whole, under the database's lock, and a schema that is not ours to touch is refused."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.errors import StoreUnusableError
from puntual.store.migration import Migration
from puntual.store.requests import Retention
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.connection import APPLICATION_ID, connect
from puntual.store.sqlite.migrate import Opening, migrate, shipped, statements

ONE = Migration(
    1, "0001_one", "-- first; with a semicolon\nCREATE TABLE one (x TEXT DEFAULT ';');\nINSERT INTO one VALUES (';');\n"
)
TWO = Migration(2, "0002_two", "ALTER TABLE one ADD COLUMN y;")
BROKEN = Migration(2, "0002_broken", "CREATE TABLE two (x); CREATE TABLE two (x);")


@pytest.fixture
def connection(path: str) -> Iterator[sqlite3.Connection]:
    """A connection to an empty file."""
    with closing(connect(path, cache_kb=100)) as made:
        yield made


def _migrate(connection: sqlite3.Connection, *steps: Migration, opening: Opening = Opening()) -> None:  # noqa: B008 - frozen
    migrate(connection, "puntual.db", now=7, opening=opening, migrations=steps)


def _never() -> float:
    pytest.fail("there was nothing to wait for")


def _applied(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    return connection.execute("SELECT version, name FROM schema_migrations ORDER BY version").fetchall()


class TestMigrate:
    """From an empty file to the newest schema."""

    def test_steps_are_applied_in_order_and_once(self, connection: sqlite3.Connection) -> None:
        """A second start applies what is new only."""
        _migrate(connection, ONE)
        _migrate(connection, ONE, TWO)
        _migrate(connection, ONE, TWO)
        assert _applied(connection) == [(1, "0001_one"), (2, "0002_two")]
        assert connection.execute("SELECT x, y FROM one").fetchall() == [(";", None)]

    def test_a_step_that_fails_leaves_the_schema_before(self, connection: sqlite3.Connection) -> None:
        """All or nothing, the record of it too."""
        _migrate(connection, ONE)
        with pytest.raises(sqlite3.Error):
            _migrate(connection, ONE, BROKEN)
        assert _applied(connection) == [(1, "0001_one")]
        assert not connection.in_transaction
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'two'").fetchall() == []

    def test_a_newer_schema_is_refused(self, connection: sqlite3.Connection) -> None:
        """Old code does not write into what it does not know."""
        _migrate(connection, ONE, TWO)
        with pytest.raises(StoreUnusableError, match="has schema 2, which works with schema 2 or newer"):
            _migrate(connection, ONE)

    def test_the_schema_of_the_next_release_is_worked_with(self, connection: sqlite3.Connection) -> None:
        """It says how old the code may be; and nothing of it is changed, or applied again."""
        _migrate(connection, ONE, Migration(2, TWO.name, f"-- oldest: 1\n{TWO.text}"))
        _migrate(connection, ONE)
        assert _applied(connection) == [(1, "0001_one"), (2, "0002_two")]

    def test_a_changed_step_is_refused(self, connection: sqlite3.Connection) -> None:
        """What was applied under a name must be what the name says now."""
        _migrate(connection, ONE)
        changed = Migration(1, "0001_one", ONE.text + "\n-- more\n")
        with pytest.raises(StoreUnusableError, match="another version of 0001_one"):
            _migrate(connection, changed)

    def test_the_file_carries_our_mark_and_its_journal(self, connection: sqlite3.Connection) -> None:
        """The mark tells our files, and the write-ahead log is a property of the file."""
        _migrate(connection, ONE)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_statements_are_split_outside_of_texts(self) -> None:
        """A semicolon in a string or a comment ends nothing."""
        assert len(list(statements(ONE.text))) == 2
        assert list(statements("SELECT 1")) == ["SELECT 1"]

    async def test_stores_that_open_one_new_file_at_once_all_work(self, path: str) -> None:
        """Whoever comes second finds it made."""
        stores = [SqliteStore(path, clock=SystemClock(), retention=Retention()) for _ in range(3)]
        for store in stores:
            await store.open()
        assert {(await store.snapshot()).schema for store in stores} == {shipped()[-1].version}
        for store in stores:
            await store.close()

    async def test_a_newer_file_is_refused_by_the_store(self, path: str) -> None:
        """``open`` says which version made it."""
        store = SqliteStore(path, clock=SystemClock(), retention=Retention())
        await store.open()
        await store.close()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO schema_migrations VALUES (99, 'future', 'x', 99, 0)")
        with pytest.raises(StoreUnusableError, match="has schema 99"):
            await store.open()

    async def test_an_up_to_date_file_is_only_read(self, path: str, store: SqliteStore) -> None:
        """Opening beside a writer that holds the lock, or on a full disk, needs nothing of either."""
        second = SqliteStore(path, clock=SystemClock(), opening=Opening(random=_never))
        with closing(connect(path, cache_kb=100)) as other:
            other.execute("BEGIN IMMEDIATE")
            await second.open()
            other.execute("ROLLBACK")
        assert (await second.snapshot()).schema == shipped()[-1].version
        await second.close()

    def test_another_process_that_makes_the_file_meanwhile_is_no_stranger(self, path: str) -> None:
        """What is looked at is one moment: a mark without tables, then tables, would be somebody else's file."""

        class Meanwhile(sqlite3.Connection):
            done = False

            def execute(self, sql: str, *args: object) -> sqlite3.Cursor:
                found = super().execute(sql, *args)  # type: ignore[arg-type]  # handed through
                if sql == "PRAGMA application_id" and not self.done:
                    self.done = True
                    with closing(connect(path, cache_kb=100)) as other:
                        other.execute("PRAGMA busy_timeout = 0").fetchall()
                        _migrate(other, ONE)
                return found

        with closing(connect(path, cache_kb=100)) as first:
            first.execute("PRAGMA journal_mode = WAL").fetchall()
        with closing(sqlite3.connect(path, isolation_level=None, factory=Meanwhile)) as connection:
            _migrate(connection, ONE)
            assert _applied(connection) == [(1, "0001_one")]

    def test_shipped_steps_are_numbered_without_holes(self) -> None:
        """0001, 0002, ..."""
        assert [step.version for step in shipped()] == list(range(1, len(shipped()) + 1))

    async def test_a_state_that_cannot_be_is_refused_by_the_table(self, path: str, store: SqliteStore) -> None:
        """Columns and state are tied together: a running run has a worker."""
        sql = """
            INSERT INTO runs
            (id, task, args, queue, priority, state, origin, due_at, claim_at, created_at, max_attempts)
            VALUES ('a', 't', '{}', 'q', 2, ?, 'event', 0, 0, 0, 5)
        """
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(sql, ("pending",))
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(sql.replace("'a'", "'b'"), ("running",))
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(sql.replace("'a'", "'c'"), ("succeeded",))


class TestOpening:
    """What opening may do."""

    def test_a_file_that_shall_be_there_is_not_made(self, path: str) -> None:
        """A mistyped path is told, and no empty database left there."""
        store = SqliteStore(path, clock=SystemClock(), opening=Opening(create=False))
        with pytest.raises(StoreUnusableError, match=r"There is no database at .*: `puntual serve` makes one"):
            asyncio.run(store.open())
        assert not Path(path).exists()

    def test_an_empty_file_is_no_database(self, path: str) -> None:
        """It stays empty."""
        Path(path).touch()
        with pytest.raises(StoreUnusableError, match="There is no database"):
            asyncio.run(SqliteStore(path, clock=SystemClock(), opening=Opening(create=False)).open())
        assert Path(path).stat().st_size == 0

    async def test_a_file_that_is_there_is_opened(self, path: str, store: SqliteStore) -> None:
        """What was made may be used by those that make nothing."""
        second = SqliteStore(path, clock=SystemClock(), opening=Opening(create=False, migrate=False))
        await second.open()
        assert await second.list_workers() == []
        await second.close()

    async def test_a_database_in_memory_is_always_made(self) -> None:
        """There is none that could be there."""
        store = SqliteStore(":memory:", clock=SystemClock(), opening=Opening(create=False, migrate=False))
        await store.open()
        await store.close()

    def test_a_file_that_lacks_a_step_is_left_as_it_is(self, connection: sqlite3.Connection) -> None:
        """The sentence says what brings it up to date."""
        _migrate(connection, ONE)
        with pytest.raises(StoreUnusableError, match="has schema 1 and this puntual works with 2: `puntual migrate`"):
            _migrate(connection, ONE, TWO, opening=Opening(migrate=False))
        assert _applied(connection) == [(1, "0001_one")]

    def test_a_new_file_needs_no_leave_to_migrate(self, connection: sqlite3.Connection) -> None:
        """To make a database is to bring it up to date."""
        _migrate(connection, ONE, TWO, opening=Opening(migrate=False))
        assert len(_applied(connection)) == 2
