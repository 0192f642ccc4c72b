"""Connections: every one has the same pragmas, waits for locks in our way, and reports errors as ours."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from puntual.store.sqlite.errors import is_busy

T = TypeVar("T")

MEMORY = ":memory:"
#: "PUNT" in ASCII: what our files carry in their header.
APPLICATION_ID = 0x50554E54
#: How long a lock is waited for, seconds.
PATIENCE = 10.0
#: SQLite's own back-off made a heartbeat beside a busy writer wait 0.5-1.5 s; a try each millisecond 41 ms.
_RETRY = 0.001

#: To what size, bytes, a log is cut that grew beyond it: four times what makes the writer move it.
LOG_LIMIT = 16 * 1024 * 1024

_PRAGMAS = (
    "busy_timeout = 0",
    "synchronous = FULL",
    "foreign_keys = ON",
    "temp_store = MEMORY",
    "mmap_size = 0",
    # Checkpoints are the writer's alone: before 3.51.3 two connections that checkpoint at once can lose a log.
    "wal_autocheckpoint = 0",
    # What a long read, a backup above all, made the log grow by is given back once the log starts anew.
    f"journal_size_limit = {LOG_LIMIT}",
)

_never = threading.Event()


def connect(path: str, *, cache_kb: int, query_only: bool = False, create: bool = True) -> sqlite3.Connection:
    """A connection with our pragmas; the journal mode is the file's own and is set where the file is made.

    Args:
        path: the file, or ``:memory:``.
        cache_kb: how many pages it may keep, in kilobytes.
        query_only: refuse every write.
        create: make a file where there is none, an empty one.
    """
    place = path if create else f"file:{quote(os.fsencode(path))}?mode=rw"
    connection = sqlite3.connect(
        place, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256, uri=not create
    )
    try:
        for pragma in (*_PRAGMAS, f"cache_size = -{cache_kb}", f"query_only = {'ON' if query_only else 'OFF'}"):
            # Some of them read the file, which another process may be setting up at this moment.
            patiently(partial(_set, connection, pragma), lambda: 0.5)
    except BaseException:
        connection.close()
        raise
    return connection


def pause(seconds: float) -> None:
    """Stands still for a moment, on a thread that has nothing else to do."""
    _never.wait(seconds)


def patiently(step: Callable[[], T], random: Callable[[], float], *, patience: float = PATIENCE) -> T:
    """Does a step that may find the database locked, again each millisecond or so, until it works or patience ends.

    Args:
        step: what to do; it must have done nothing when it was refused.
        random: numbers in [0, 1), so that two waiters do not keep in step.
        patience: seconds.

    Raises:
        sqlite3.OperationalError: it was locked all the time.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= until:
                raise
            pause(_RETRY * (0.5 + random()))


def _set(connection: sqlite3.Connection, pragma: str) -> None:
    connection.execute(f"PRAGMA {pragma}").fetchall()
