"""Migrations: numbered SQL files, each applied once, in order, all of them or none, under the lock of the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import SystemRandom

import msgspec

from puntual.model.errors import StoreUnusableError
from puntual.store import migration
from puntual.store.migration import Applied, Migration, Schema, compare, outdated
from puntual.store.sqlite.connection import APPLICATION_ID, MEMORY, connect, patiently

_JOURNALS = ("wal", "memory")
_CACHE_KB = 64
_LEDGER = """
CREATE TABLE schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    oldest INTEGER NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""
_RECORD = "INSERT INTO schema_migrations (version, name, checksum, oldest, applied_at) VALUES (?, ?, ?, ?, ?)"


class Opening(msgspec.Struct, frozen=True):
    """What opening may do to a file; and where jitter comes from.

    Args:
        create: make a database where there is none.
        migrate: bring one that is there up to date.
        random: numbers in [0, 1), for the jitter of waits.
    """

    create: bool = True
    migrate: bool = True
    random: Callable[[], float] = SystemRandom().random


class _Found(msgspec.Struct, frozen=True):
    """What a look at a file showed."""

    schema: Schema
    journal: str

    @property
    def complete(self) -> bool:
        """Whether there is nothing to write."""
        return not self.schema.missing and self.journal in _JOURNALS


def shipped() -> list[Migration]:
    """The migrations that come with this code."""
    return migration.shipped("sqlite")


def migrate(
    connection: sqlite3.Connection,
    path: str,
    *,
    now: int,
    opening: Opening = Opening(),  # noqa: B008 - a frozen value
    migrations: Sequence[Migration] | None = None,
) -> None:
    """Makes the file ours if it is new, and brings it up to date; one that is, is only read.

    Raises:
        StoreUnusableError: it belongs to somebody else, is too new for this code, or was migrated by other files; or
            ``opening`` does not allow what it needs.
    """
    steps = shipped() if migrations is None else list(migrations)
    found = patiently(lambda: _look(connection, path, steps), opening.random)
    if found.complete:
        return
    _check_allowed(found, path, opening)
    patiently(lambda: _use_wal(connection, path), opening.random)
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), opening.random)
    try:
        _apply(connection, _inspect(connection, path, steps).schema, now)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def look(path: str) -> Schema:
    """The schema of the file, which is left as it is; one that is not there lacks every migration.

    Raises:
        StoreUnusableError: as `migrate`, or the file cannot be read.
    """
    steps = shipped()
    if not Path(path).exists():
        return Schema(0, steps)
    try:
        with closing(connect(path, cache_kb=_CACHE_KB, query_only=True)) as connection:
            return patiently(lambda: _look(connection, path, steps), Opening().random).schema
    except sqlite3.Error as error:
        raise StoreUnusableError(f"{path} cannot be read: {error}.") from error


def _look(connection: sqlite3.Connection, path: str, steps: Sequence[Migration]) -> _Found:
    """Reads one moment of the file: another process may be making it."""
    connection.execute("BEGIN")
    try:
        return _inspect(connection, path, steps)
    finally:
        connection.execute("ROLLBACK")


def _check_allowed(found: _Found, path: str, opening: Opening) -> None:
    schema = found.schema
    if not schema.version and not opening.create and path != MEMORY:
        raise no_database(path)
    if schema.version and schema.missing and not opening.migrate:
        raise outdated(schema, database=path)


def no_database(path: str) -> StoreUnusableError:
    """The error for a file that should be there already."""
    return StoreUnusableError(f"There is no database at {path}: `puntual serve` makes one.")


def _use_wal(connection: sqlite3.Connection, path: str) -> None:
    """The mode stays with the file; a file system without shared memory does not have it."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode not in _JOURNALS:
        raise StoreUnusableError(f"{path} lies where SQLite cannot keep a write-ahead log: put it on a local disk.")


def _inspect(connection: sqlite3.Connection, path: str, steps: Sequence[Migration]) -> _Found:
    """Only an empty file, or one that carries our mark, is ours; and it must be none that other code has changed."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    if mark != APPLICATION_ID and (tables or mark):
        raise StoreUnusableError(f"{path} is a database of another program: name another file.")
    applied: list[Applied] = []
    if "schema_migrations" in tables:
        rows = connection.execute("SELECT version, checksum, oldest FROM schema_migrations").fetchall()
        applied = [Applied(*row) for row in rows]
    (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
    return _Found(compare(applied, steps, database=path), journal)


def _apply(connection: sqlite3.Connection, schema: Schema, now: int) -> None:
    if not schema.version:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(_LEDGER)
    for step in schema.missing:
        for statement in statements(step.text):
            connection.execute(statement)
        connection.execute(_RECORD, (step.version, step.name, step.checksum, step.oldest, now))


def statements(text: str) -> Iterator[str]:
    """The statements of a file, one by one: ``executescript`` would commit first."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
