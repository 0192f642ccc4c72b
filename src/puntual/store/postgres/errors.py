"""Every error of asyncpg becomes one of ours here, and nowhere else."""

from __future__ import annotations

import asyncio

import asyncpg
import msgspec

from puntual.model.errors import (
    PuntualError,
    StoreBusyError,
    StoreDataError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)

#: What is raised before PostgreSQL sees a value: an integer beyond its width, a lone surrogate, NUL in a text.
DATA_ERRORS = (OverflowError, UnicodeError, msgspec.EncodeError, asyncpg.DataError)
#: The whole transaction is begun anew after these: nothing of it was done.
AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
#: The server is on its way down, is a standby, or the line was cut: every connection is given up.
_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    OSError,
)
CAUGHT = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, asyncio.TimeoutError, *DATA_ERRORS)


def lost_server(error: BaseException) -> bool:
    """Whether the server that all connections lead to is gone, or is none that can be written to any more."""
    if isinstance(error, asyncpg.DataError):
        return False
    return isinstance(error, _GONE) and not isinstance(error, asyncpg.QueryCanceledError)


_MEANINGS: tuple[tuple[tuple[type[BaseException], ...], type[StoreError], str], ...] = (
    (
        (*DATA_ERRORS, asyncpg.IntegrityConstraintViolationError),
        StoreDataError,
        "The database refuses a value: {error}.",
    ),
    (
        (asyncpg.DiskFullError,),
        StoreFullError,
        "The database's disk is full: nothing was written; make room and try again.",
    ),
    (
        (asyncpg.LockNotAvailableError, *AGAIN),
        StoreBusyError,
        "Another transaction holds what is needed for longer than we wait: try again.",
    ),
    (
        (*_GONE, asyncio.TimeoutError, asyncpg.QueryCanceledError, asyncpg.InsufficientResourcesError),
        StoreUnavailableError,
        "PostgreSQL cannot be reached, or does not answer: {error}.",
    ),
    ((asyncpg.PostgresError,), StoreError, "PostgreSQL refuses a statement: {error}."),
)


def translate(error: Exception) -> PuntualError:
    """The error of ours that says what to do: wait, make room, leave a value out, or ask whoever runs the server."""
    if isinstance(error, PuntualError):
        return error
    for kinds, ours, sentence in _MEANINGS:
        if isinstance(error, kinds):
            return ours(sentence.format(error=error))
    raise error
