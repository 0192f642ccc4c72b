"""Each failure of SQLite becomes the error that says what to do about it."""

from __future__ import annotations

import sqlite3

import pytest

from puntual.model.errors import (
    ConflictError,
    StoreBusyError,
    StoreDataError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnusableError,
)
from puntual.store.sqlite.errors import is_busy, translate

PATH = "/var/lib/puntual.db"


def _error(code: int, text: str = "said") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, StoreBusyError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusyError),
        (sqlite3.SQLITE_LOCKED, StoreBusyError),
        (sqlite3.SQLITE_FULL, StoreFullError),
        (sqlite3.SQLITE_CORRUPT, StoreUnusableError),
        (sqlite3.SQLITE_NOTADB, StoreUnusableError),
        (sqlite3.SQLITE_READONLY, StoreUnusableError),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreUnusableError),
        (sqlite3.SQLITE_CONSTRAINT_CHECK, StoreDataError),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, StoreDataError),
        (sqlite3.SQLITE_TOOBIG, StoreDataError),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailableError),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailableError),
        (sqlite3.SQLITE_NOMEM, StoreUnavailableError),
        (sqlite3.SQLITE_ERROR, StoreError),
    ],
)
def test_a_code_has_its_class(code: int, kind: type[StoreError]) -> None:
    """The extended code counts by its primary one."""
    assert type(translate(_error(code), PATH)) is kind


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_BUSY])
def test_the_file_is_named(code: int) -> None:
    """Whoever reads the sentence knows which file is meant."""
    assert PATH in str(translate(_error(code), PATH))


@pytest.mark.parametrize("kind", [sqlite3.ProgrammingError, sqlite3.InterfaceError])
def test_what_sqlite3_itself_refuses_is_data(kind: type[sqlite3.Error]) -> None:
    """A type that it cannot bind has no code of SQLite, and does not pass by trying again."""
    assert type(translate(kind("Error binding parameter 1: type 'dict' is not supported"), PATH)) is StoreDataError


def test_a_misuse_of_sqlite_is_no_data() -> None:
    """The same class with a code is judged by it."""
    error = sqlite3.InterfaceError("bad parameter or other API misuse")
    error.sqlite_errorcode = sqlite3.SQLITE_MISUSE
    assert type(translate(error, PATH)) is StoreError


def test_an_error_without_a_code_is_one_that_passes() -> None:
    """Nothing is known of it."""
    assert type(translate(sqlite3.OperationalError("unknown"), PATH)) is StoreUnavailableError


@pytest.mark.parametrize(
    "error",
    [OverflowError("int too large"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), sqlite3.DataError("too long")],
)
def test_what_python_cannot_bind_is_data(error: Exception) -> None:
    """A value that never reached SQLite is refused as one that it refuses."""
    assert type(translate(error, PATH)) is StoreDataError


def test_our_own_errors_pass_unchanged() -> None:
    """What was raised on purpose is what the caller sees."""
    error = ConflictError("taken")
    assert translate(error, PATH) is error


def test_busy_is_told_by_the_primary_code() -> None:
    """Recovery and snapshots are kinds of busy."""
    assert is_busy(_error(sqlite3.SQLITE_BUSY_RECOVERY))
    assert not is_busy(_error(sqlite3.SQLITE_FULL))
