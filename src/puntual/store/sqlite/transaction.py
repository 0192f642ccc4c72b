"""What an operation is given: the connection inside a transaction, the store's time, and how long history is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from puntual.model.clock import Clock
from puntual.store.requests import Retention
from puntual.store.rows.codec import SqlValue
from puntual.store.sqlite.backup import backup
from puntual.store.sqlite.statements import batches, sql


class TransactionLostError(Exception):
    """A part failed and could not be undone alone: nothing of its transaction may be committed. The cause says why."""


class Tx:
    """One operation inside a transaction; its time is read once, after the lock was taken.

    Every statement gives back at most one row of one value, JSON where there is more to say: each step costs a
    switch of threads when the event loop is busy.
    """

    def __init__(self, connection: sqlite3.Connection, clock: Clock, retention: Retention, now: int | None) -> None:
        self._connection = connection
        self._clock = clock
        self._now = now
        self._parts = 0
        self.retention = retention

    @property
    def now(self) -> int:
        """The time of this operation, microseconds."""
        if self._now is None:
            self._now = self._clock.now()
        return self._now

    def text(self, name: str, *parameters: SqlValue) -> str:
        """The one text that a statement gives back."""
        value = self.value(name, *parameters)
        assert isinstance(value, str)
        return value

    def value(self, name: str, *parameters: SqlValue) -> SqlValue:
        """The one value that a statement gives back, None when there is no row."""
        return self.execute(sql(name), parameters)

    def execute(self, statement: str, parameters: Sequence[object]) -> SqlValue:
        """As ``value``, for a statement that was put together."""
        row = self._connection.execute(statement, parameters).fetchone()
        return None if row is None else row[0]

    def row(self, name: str, *parameters: SqlValue) -> tuple[SqlValue, ...] | None:
        """The one row that a statement gives back, for what is no JSON."""
        row: tuple[SqlValue, ...] | None = self._connection.execute(sql(name), parameters).fetchone()
        return row

    def change(self, name: str, *parameters: SqlValue) -> int:
        """Writes, and gives back how many rows."""
        return self._connection.execute(sql(name), parameters).rowcount

    def change_rows(self, name: str, rows: Sequence[Sequence[SqlValue]], *parameters: SqlValue) -> int:
        """Writes for many rows, and gives back how many were written."""
        return sum(
            self._connection.execute(statement, [*flat, *parameters]).rowcount
            for statement, flat in batches(name, rows)
        )

    def read_rows(self, name: str, rows: Sequence[Sequence[SqlValue]], *parameters: SqlValue) -> Iterator[str]:
        """Reads for many rows: one text for each part of 256."""
        for statement, flat in batches(name, rows):
            value = self.execute(statement, [*flat, *parameters])
            assert isinstance(value, str)
            yield value

    def pragma(self, name: str) -> str:
        """The first value that a pragma answers, as text."""
        return str(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def backup(self, path: str) -> int:
        """Copies the snapshot that this transaction reads, and gives the size of the copy."""
        return backup(self._connection, path)

    @contextmanager
    def part(self) -> Iterator[None]:
        """What is done inside is undone by whatever exception leaves it, and nothing else is; parts may nest.

        Raises:
            TransactionLostError: the exception, its cause, left something that cannot be undone alone.
        """
        self._parts += 1
        name = f"part_{self._parts}"
        try:
            self._connection.execute(f"SAVEPOINT {name}")
            try:
                yield
                self._connection.execute(f"RELEASE {name}")
            except BaseException as error:
                if not self._undone(name) and isinstance(error, Exception):
                    raise TransactionLostError from error
                raise
        finally:
            self._parts -= 1

    def _undone(self, name: str) -> bool:
        """Goes back to a savepoint; False where there is none any more, since SQLite has undone everything."""
        try:
            self._connection.execute(f"ROLLBACK TO {name}")
            self._connection.execute(f"RELEASE {name}")
        except sqlite3.Error:
            return False
        return True
