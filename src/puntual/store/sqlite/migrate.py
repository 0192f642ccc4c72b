"""Migrations: numbered SQL files, each applied once, in order, all of them or none, under the lock of the database."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files

import msgspec

from puntual.model.errors import StoreUnusableError
from puntual.store.sqlite.connection import APPLICATION_ID, patiently

_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""


class Migration(msgspec.Struct, frozen=True):
    """One numbered file."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What tells that a file was changed after it had been applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def shipped() -> list[Migration]:
    """The migrations that come with this code."""
    folder = files("puntual.store.sqlite") / "migrations"
    texts = [(file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")]
    return [Migration(int(name.split("_", 1)[0]), name.removesuffix(".sql"), text) for name, text in sorted(texts)]


def migrate(
    connection: sqlite3.Connection,
    path: str,
    *,
    now: int,
    random: Callable[[], float],
    migrations: Sequence[Migration] | None = None,
) -> int:
    """Makes the file ours if it is new, brings it up to date, and gives the version of its schema.

    Raises:
        StoreUnusableError: it belongs to somebody else, is newer than this code, or was migrated by other files.
    """
    steps = shipped() if migrations is None else list(migrations)
    patiently(lambda: _check_owner(connection, path), random)
    patiently(lambda: _use_wal(connection, path), random)
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"), random)
    try:
        _check_owner(connection, path)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(_LEDGER)
        version = _apply(connection, path, steps, now)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return version


def _use_wal(connection: sqlite3.Connection, path: str) -> None:
    """The mode stays with the file; a file system without shared memory does not have it."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode not in {"wal", "memory"}:
        raise StoreUnusableError(f"{path} lies where SQLite cannot keep a write-ahead log: put it on a local disk.")


def _check_owner(connection: sqlite3.Connection, path: str) -> None:
    """Only an empty file, or one that carries our mark, is ours."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark != APPLICATION_ID and (tables or mark):
        raise StoreUnusableError(f"{path} is a database of another program: name another file.")


def _apply(connection: sqlite3.Connection, path: str, steps: Sequence[Migration], now: int) -> int:
    applied = dict(connection.execute("SELECT version, checksum FROM schema_migrations").fetchall())
    newest = max((step.version for step in steps), default=0)
    if max(applied, default=0) > newest:
        raise StoreUnusableError(
            f"{path} has schema {max(applied)}, this puntual knows {newest}: install the newer puntual that made it."
        )
    for step in steps:
        known = applied.get(step.version)
        if known is None:
            for statement in statements(step.text):
                connection.execute(statement)
            row = (step.version, step.name, step.checksum, now)
            connection.execute("INSERT INTO schema_migrations VALUES (?, ?, ?, ?)", row)
        elif known != step.checksum:
            raise StoreUnusableError(
                f"{path} was migrated by another version of {step.name}: use the puntual that made it."
            )
    return newest


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
