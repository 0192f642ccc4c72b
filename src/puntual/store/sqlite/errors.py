"""Every error of sqlite3 becomes one of ours here, and nowhere else."""

from __future__ import annotations

import sqlite3

import msgspec

from puntual.model.errors import (
    PuntualError,
    StoreBusyError,
    StoreDataError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnusableError,
)

#: What Python raises before SQLite sees a value: an integer beyond 64 bits, a lone surrogate, a text too long.
DATA_ERRORS = (OverflowError, UnicodeError, msgspec.EncodeError, sqlite3.DataError)
CAUGHT = (sqlite3.Error, *DATA_ERRORS)


def translate(error: Exception, path: str) -> PuntualError:
    """The error of ours that says what to do: wait, make room, leave a value out, or look at the file.

    Args:
        error: what was raised while the database was used.
        path: the database file, which the sentence names.
    """
    if isinstance(error, PuntualError):
        return error
    if isinstance(error, DATA_ERRORS):
        return StoreDataError(f"The database cannot keep a value: {error}.")
    if not isinstance(error, sqlite3.Error):
        raise error
    return _by_code(primary_code(error), error, path)


def primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code, None when the error is Python's own (a closed connection)."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds a lock that we wanted."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _by_code(code: int | None, error: sqlite3.Error, path: str) -> PuntualError:
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusyError(f"Another writer holds {path} for longer than we wait: try again.")
        case sqlite3.SQLITE_FULL:
            return StoreFullError(f"The disk that holds {path} is full: nothing was written; make room and try again.")
        case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH | sqlite3.SQLITE_TOOBIG | sqlite3.SQLITE_RANGE:
            return StoreDataError(f"The database refuses a value: {error}.")
        case sqlite3.SQLITE_CORRUPT:
            return StoreUnusableError(f"{path} is damaged ({error}): stop, and restore it from a backup.")
        case sqlite3.SQLITE_NOTADB:
            return StoreUnusableError(f"{path} is no SQLite database: name another file.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnusableError(f"{path} cannot be written ({error}): the file and its folder must be writable.")
        case sqlite3.SQLITE_ERROR | sqlite3.SQLITE_MISUSE | sqlite3.SQLITE_INTERNAL:
            return StoreError(f"SQLite refuses a statement on {path}: {error}.")
        case _:
            return StoreUnavailableError(f"{path} cannot be reached: {error}.")
