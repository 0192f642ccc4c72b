"""Every error of asyncpg becomes one of ours here, and nowhere else: a sentence that says what to do."""

from __future__ import annotations

import ssl

import asyncpg
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

#: What is raised before PostgreSQL sees a value: an integer beyond its width, a lone surrogate, NUL in a text.
DATA_ERRORS = (OverflowError, UnicodeError, msgspec.EncodeError, asyncpg.DataError)
#: The whole transaction is begun anew after these: nothing of it was done. The last two come once on each connection
#: when a table was changed by the migration of a newer release.
AGAIN = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.InvalidCachedStatementError,
    asyncpg.OutdatedSchemaCacheError,
)
#: The server is on its way down, is a standby, does not answer, or the line was cut: every connection is given up.
_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    TimeoutError,
    OSError,
)
CAUGHT = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    *DATA_ERRORS,
)
#: A statement that was prepared is not there, or stands already: each transaction may meet another server connection.
_POOLED = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
_POOLER = "a pooler lies between puntual and PostgreSQL: set POOLER=transaction, and LISTEN_URL to the server itself"


class ServerCrowdedError(StoreUnavailableError):
    """The server takes no more connections; those that we have go on."""


def lost_server(error: BaseException) -> bool:
    """Whether the server that all connections lead to is gone, or is none that can be written to any more."""
    if isinstance(error, (asyncpg.DataError, asyncpg.QueryCanceledError, asyncpg.OutdatedSchemaCacheError)):
        return False
    return isinstance(error, _GONE)


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
        (asyncpg.ReadOnlySQLTransactionError,),
        StoreUnavailableError,
        "PostgreSQL is a standby, or read-only: nothing was written; it is tried again on a host that can be written.",
    ),
    (_POOLED, StoreUnusableError, f"PostgreSQL forgets what was prepared ({{error}}), so {_POOLER}."),
    (
        (asyncpg.InsufficientPrivilegeError,),
        StoreUnusableError,
        "DATABASE_URL's role lacks a right ({error}): it must own the schema puntual (less: Rights in docs/python.md).",
    ),
    (
        (
            asyncpg.UndefinedTableError,
            asyncpg.UndefinedColumnError,
            asyncpg.UndefinedFunctionError,
            asyncpg.InvalidSchemaNameError,
        ),
        StoreUnusableError,
        "The database lacks a part of the schema ({error}): `puntual migrate --check` says what is missing.",
    ),
    (
        (TimeoutError, asyncpg.QueryCanceledError),
        StoreUnavailableError,
        "PostgreSQL took longer than we wait for a statement: try again.",
    ),
    (
        (
            *_GONE,
            asyncpg.InsufficientResourcesError,
            asyncpg.TransactionRollbackError,
            asyncpg.IdleInTransactionSessionTimeoutError,
        ),
        StoreUnavailableError,
        "PostgreSQL cannot be reached, or gave up: {error}.",
    ),
    ((asyncpg.PostgresError,), StoreError, "PostgreSQL refuses a statement: {error}."),
)

#: Why a connection was not made. {name} is the database, {host} where it was sought.
_REFUSALS: tuple[tuple[tuple[type[BaseException], ...], type[StoreError], str], ...] = (
    (
        (asyncpg.InvalidCatalogNameError,),
        StoreUnusableError,
        "There is no database {name} at {host}: `createdb {name}` there makes one, and `puntual migrate` its schema.",
    ),
    (
        (asyncpg.InvalidAuthorizationSpecificationError,),
        StoreUnusableError,
        "PostgreSQL at {host} lets nobody in as DATABASE_URL says ({error}): check its user and password.",
    ),
    (
        (asyncpg.InsufficientPrivilegeError,),
        StoreUnusableError,
        "The role that DATABASE_URL names may not use the database {name} ({error}): grant it CONNECT.",
    ),
    (
        (asyncpg.TooManyConnectionsError,),
        ServerCrowdedError,
        "PostgreSQL at {host} has no connection left ({error}): raise max_connections, or put a pooler before it.",
    ),
    (
        (asyncpg.CannotConnectNowError,),
        StoreUnavailableError,
        "PostgreSQL at {host} is starting up or shutting down ({error}): try again.",
    ),
    (
        (asyncpg.ProtocolViolationError,),
        StoreUnusableError,
        f"What answers at {{host}} refuses our settings ({{error}}), so {_POOLER}.",
    ),
    (
        (asyncpg.TargetServerAttributeNotMatched,),
        StoreUnavailableError,
        "PostgreSQL at {host} is a standby, or read-only: name the primary too, hosts separated by commas.",
    ),
    (
        (ssl.SSLError, asyncpg.ClientConfigurationError),
        StoreUnusableError,
        "No connection to PostgreSQL at {host} as DATABASE_URL wants it: {error}.",
    ),
    (
        (TimeoutError,),
        StoreUnavailableError,
        "PostgreSQL at {host} does not answer: check address and firewall.",
    ),
    ((OSError, *_GONE), StoreUnavailableError, "PostgreSQL at {host} cannot be reached: {error}."),
)


def translate(error: Exception) -> PuntualError:
    """The error of ours that says what to do: wait, make room, leave a value out, or ask whoever runs the server."""
    if isinstance(error, PuntualError):
        return error
    for kinds, ours, sentence in _MEANINGS:
        if isinstance(error, kinds):
            return ours(sentence.format(error=_words(error)))
    raise error


def refusal(error: Exception, *, host: str, name: str) -> PuntualError:
    """The same for a connection that was not made.

    Args:
        error: what asyncpg raised.
        host: where it was sought, as the URL names it.
        name: of the database.
    """
    for kinds, ours, sentence in _REFUSALS:
        if isinstance(error, kinds):
            return ours(sentence.format(error=_words(error), host=host, name=name))
    return translate(error)


def _words(error: Exception) -> str:
    """What the server said: its one line, without its details, which may quote values."""
    return str(getattr(error, "message", None) or str(error) or type(error).__name__).partition("\n")[0].rstrip(".")
