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
    if isinstance(error, DATA_ERRORS) or _refused_by_python(error):
        return StoreDataError(f"The database cannot keep a value: {error}.")
    if not isinstance(error, sqlite3.Error):
        raise error
    otherwise = (StoreUnavailableError, "{path} cannot be reached: {error}.")
    kind, sentence = _MEANINGS.get(primary_code(error), otherwise)
    return kind(sentence.format(path=path, error=error))


def _refused_by_python(error: Exception) -> bool:
    """Whether sqlite3 itself refused what it was given, a type it cannot bind for one: trying again changes nothing."""
    return isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError) and primary_code(error) is None


def primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code, None when the error is Python's own."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds a lock that we wanted."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


_BUSY = (StoreBusyError, "Another writer holds {path} for longer than we wait: try again.")
_REFUSED = (StoreDataError, "The database refuses a value: {error}.")
_LOCKED_UP = (StoreUnusableError, "{path} cannot be written ({error}): the file and its folder must be writable.")
_WRONG = (StoreError, "SQLite refuses a statement on {path}: {error}.")
_MEANINGS: dict[int | None, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: (
        StoreFullError,
        "The disk that holds {path} is full: nothing was written; make room and try again.",
    ),
    sqlite3.SQLITE_IOERR: (
        StoreUnavailableError,
        "{path} cannot be read or written ({error}): see to its disk, and to quotas and limits on the size of files.",
    ),
    sqlite3.SQLITE_CONSTRAINT: _REFUSED,
    sqlite3.SQLITE_MISMATCH: _REFUSED,
    sqlite3.SQLITE_TOOBIG: _REFUSED,
    sqlite3.SQLITE_RANGE: _REFUSED,
    sqlite3.SQLITE_CORRUPT: (
        StoreUnusableError,
        "{path} is damaged ({error}): stop, and restore it from a backup.",
    ),
    sqlite3.SQLITE_NOTADB: (StoreUnusableError, "{path} is no SQLite database: name another file."),
    sqlite3.SQLITE_READONLY: _LOCKED_UP,
    sqlite3.SQLITE_PERM: _LOCKED_UP,
    sqlite3.SQLITE_AUTH: _LOCKED_UP,
    sqlite3.SQLITE_ERROR: _WRONG,
    sqlite3.SQLITE_MISUSE: _WRONG,
    sqlite3.SQLITE_INTERNAL: _WRONG,
}
