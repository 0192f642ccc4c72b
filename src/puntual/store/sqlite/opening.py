"""Opening: the place is looked at, the file migrated, and a writer and a reader started, or nothing of it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import ExitStack

from puntual.model.errors import StoreUnavailableError, StoreUnusableError
from puntual.store.sqlite.checkpoint import Checkpointer
from puntual.store.sqlite.connection import MEMORY, connect
from puntual.store.sqlite.errors import translate
from puntual.store.sqlite.lanes import InlineLane, Lane, ThreadLane
from puntual.store.sqlite.migrate import Opening, migrate, no_database
from puntual.store.sqlite.place import hold_place
from puntual.store.sqlite.session import Session, Surroundings

_OLDEST = (3, 37, 0)
_WRITER_CACHE_KB = 8 * 1024
_READER_CACHE_KB = 2 * 1024


def open_lanes(around: Surroundings, opening: Opening, *, inline: bool) -> tuple[Lane, Lane]:
    """The lanes for writing and for reading; one and the same connection when inline.

    Raises:
        StoreUnusableError: the path, the file or this SQLite cannot be used.
        StoreUnavailableError: the database is locked for longer than we wait, or cannot be looked at now.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreUnusableError(f"SQLite {sqlite3.sqlite_version} is too old: 3.37 or later is needed.")
    try:
        with ExitStack() as undo:
            undo.callback(around.file.closed)
            # Held before the first connection has a lock that somebody else's look at the place could cost it.
            if around.path != MEMORY and (held := hold_place(around.path)) is not None:
                around.file.hold(held)
            elif around.path != MEMORY and not opening.create:
                raise no_database(around.path)
            writer = connect(around.path, cache_kb=_WRITER_CACHE_KB, create=opening.create)
            undo.callback(writer.close)
            around.file.hold()
            migrate(writer, around.path, now=around.clock.now(), opening=opening)
            around.file.opened()
            lanes = _lanes(around, writer, inline=inline)
            undo.pop_all()
            return lanes
    except sqlite3.Error as error:
        raise _unusable(error, around.path) from error
    except PermissionError as error:
        raise StoreUnusableError(f"{around.path} may not be opened ({error}): see to its permissions.") from error
    except OSError as error:
        raise StoreUnavailableError(f"{around.path} cannot be opened now ({error}): try again.") from error


def _lanes(around: Surroundings, writer: sqlite3.Connection, *, inline: bool) -> tuple[Lane, Lane]:
    memory = around.path == MEMORY
    session = Session(writer, around, None if memory else Checkpointer(around.path, around.file.may_be_written))
    if inline or memory:
        lock = threading.RLock()
        return InlineLane(session, session.write, lock), InlineLane(session, session.read, lock)
    reader = open_reader(around, "puntual-sqlite-reader")
    return ThreadLane("puntual-sqlite-writer", session, session.write), reader


def open_reader(around: Surroundings, name: str) -> ThreadLane:
    """A lane that reads snapshots, on a connection of its own that refuses every write."""
    try:
        session = Session(around.connect(cache_kb=_READER_CACHE_KB, query_only=True), around)
    except sqlite3.Error as error:
        raise translate(error, around.path) from error
    return ThreadLane(name, session, session.read)


def _unusable(error: sqlite3.Error, path: str) -> Exception:
    """While opening, a file that cannot be opened is a matter of the path, not of the moment."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN:
        return StoreUnusableError(f"{path} cannot be opened: its folder must be there and be writable.")
    return translate(error, path)
