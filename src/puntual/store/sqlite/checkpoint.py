"""Checkpoints: one connection at a time moves the log into the database, under a lock beside the file."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: How large the log may grow before it is moved, bytes.
_LARGE = 4 * 1024 * 1024
#: Rows written since the last checkpoint that make another one worth it: a file that was once large stays so, and tells
#: nothing. Single runs write about six pages for each change, large batches a tenth of one.
_COMMITS, _ROWS = 150, 10_000


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Nobody else moves the log of that database meanwhile.

    Raises:
        OSError: at once, where somebody does, or the file system or the system's table has no lock to give.
    """
    handle = os.open(f"{path}.checkpoint.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


class Checkpointer:
    """Decides when the writer moves the log, and does it when no other process does.

    Args:
        path: the database.
        may_be_written: whether it is still what the log belongs to.
    """

    def __init__(self, path: str, may_be_written: Callable[[], bool] = lambda: True) -> None:
        self._may_be_written = may_be_written
        self._log = f"{path}-wal"
        self._path = path
        self._commits = 0
        self._rows = 0

    def committed(self, connection: sqlite3.Connection) -> None:
        """Counts a commit, and moves the log if it has grown; what stands in the way of that is no error."""
        self._commits += 1
        if self._commits < _COMMITS and connection.total_changes - self._rows < _ROWS:
            return
        self._commits, self._rows = 0, connection.total_changes
        with suppress(OSError):
            if Path(self._log).stat().st_size >= _LARGE:
                self.run(connection, "PASSIVE")

    def run(self, connection: sqlite3.Connection, mode: str) -> None:
        """Moves the log now, unless somebody else is at it; what stays, for whatever reason, is for the next one."""
        with suppress(OSError, sqlite3.Error), alone(self._path):
            if self._may_be_written():
                connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
