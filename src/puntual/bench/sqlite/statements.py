"""Counts what the SQLite connections of this process execute."""

from __future__ import annotations

import sqlite3
import sys


class SqliteStatements:
    """All statements, and the commits among them, once it is told to begin."""

    def __init__(self) -> None:
        self.all = 0
        self.commits = 0
        self._connections: list[sqlite3.Connection] = []
        sys.addaudithook(self._audit)

    def begin(self) -> None:
        """Counts from now on, on every connection that there is."""
        for connection in self._connections:
            connection.set_trace_callback(self._count)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        # At this moment the connection is not ready yet to be told of the count.
        if event == "sqlite3.connect/handle" and isinstance(arguments[0], sqlite3.Connection):
            self._connections.append(arguments[0])

    def _count(self, statement: str) -> None:
        self.all += 1
        self.commits += statement == "COMMIT"
