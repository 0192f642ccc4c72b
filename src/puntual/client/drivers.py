"""How a statement gets to a connection of the application's, whichever driver made it; none is imported uninvited."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from puntual.model.errors import InvalidError
from puntual.store.requests import Statement

AtOnce = Callable[[Statement], str]
Awaited = Callable[[Statement], Awaitable[str]]

_PARAMETER: Final = re.compile(r"\$(\d+)")
_TAKEN: Final = "a connection of asyncpg, psycopg 3 or SQLAlchemy, or the name of a Django database"


class Driver(msgspec.Struct, frozen=True):
    """One of the two, as the connection has it."""

    at_once: AtOnce | None = None
    awaited: Awaited | None = None


def find_driver(connection: object) -> Driver:
    """The driver of a connection.

    Raises:
        InvalidError: it is nothing that can be used.
    """
    if isinstance(connection, str):
        return _django(connection)
    libraries = {kind.__module__.partition(".")[0] for kind in type(connection).__mro__}
    for library, find in (("asyncpg", _asyncpg), ("psycopg", _psycopg), ("sqlalchemy", _sqlalchemy)):
        if library in libraries and (driver := find(connection)) is not None:
            return driver
    kind = type(connection)
    raise InvalidError(
        f"connection is a {kind.__module__}.{kind.__qualname__}; it must be {_TAKEN}.", field="connection"
    )


def _asyncpg(connection: object) -> Driver | None:
    import asyncpg  # noqa: PLC0415 - the caller has it, or there were no connection
    from asyncpg.pool import PoolConnectionProxy  # noqa: PLC0415 - as above

    if not isinstance(connection, asyncpg.Connection | PoolConnectionProxy):
        return None
    used = connection

    async def take(statement: Statement) -> str:
        return str(await used.fetchval(statement.text, *statement.parameters))

    return Driver(awaited=take)


def _psycopg(connection: object) -> Driver | None:
    import psycopg  # noqa: PLC0415 - as in _asyncpg
    from psycopg.rows import tuple_row  # noqa: PLC0415 - as in _asyncpg

    async def take_later(used: psycopg.AsyncConnection[object], statement: Statement) -> str:
        async with psycopg.AsyncCursor(used, row_factory=tuple_row) as cursor:
            await cursor.execute(_written(statement, "%(p{})s").encode(), _named(statement))
            return _only(await cursor.fetchone())

    def take(used: psycopg.Connection[object], statement: Statement) -> str:
        with psycopg.Cursor(used, row_factory=tuple_row) as cursor:
            cursor.execute(_written(statement, "%(p{})s").encode(), _named(statement))
            return _only(cursor.fetchone())

    if isinstance(connection, psycopg.AsyncConnection):
        return Driver(awaited=lambda statement: take_later(connection, statement))
    if isinstance(connection, psycopg.Connection):
        return Driver(at_once=lambda statement: take(connection, statement))
    return None


def _sqlalchemy(connection: object) -> Driver | None:
    from sqlalchemy import Connection, text  # noqa: PLC0415 - as in _asyncpg
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session  # noqa: PLC0415
    from sqlalchemy.orm import Session, scoped_session  # noqa: PLC0415

    if isinstance(connection, scoped_session | async_scoped_session):
        connection = connection()

    def on(used: Connection, statement: Statement) -> str:
        if used.dialect.name != "postgresql":
            raise InvalidError(
                f"connection leads to a {used.dialect.name}; only a transaction of PostgreSQL can be joined.",
                field="connection",
            )
        # In brackets, or the colons of a cast would be taken for part of the name.
        return str(used.execute(text(_written(statement, "(:p{})")), _named(statement)).scalar_one())

    async def later(session: AsyncSession, statement: Statement) -> str:
        return await (await session.connection()).run_sync(on, statement)

    match connection:
        case Connection():
            return Driver(at_once=lambda statement: on(connection, statement))
        case Session():
            return Driver(at_once=lambda statement: on(connection.connection(), statement))
        case AsyncConnection():
            return Driver(awaited=lambda statement: connection.run_sync(on, statement))
        case AsyncSession():
            return Driver(awaited=lambda statement: later(connection, statement))
        case _:
            return None


def _django(alias: str) -> Driver:
    try:
        from django.core.exceptions import ImproperlyConfigured, SynchronousOnlyOperation  # noqa: PLC0415
        from django.db import connections  # noqa: PLC0415 - as in _asyncpg
        from django.utils.connection import ConnectionDoesNotExist  # noqa: PLC0415
    except ModuleNotFoundError:
        raise InvalidError(
            f"connection is the text {alias!r}, which names a database of Django, and Django is not installed here;"
            f" it must be {_TAKEN}.",
            field="connection",
        ) from None
    try:
        used = connections[alias]
    except (ConnectionDoesNotExist, ImproperlyConfigured) as error:
        raise InvalidError(
            f"connection is {alias!r}, and Django has no database of that name: {error}", field="connection"
        ) from error
    if used.vendor != "postgresql":
        raise InvalidError(
            f"connection is {alias!r}, in Django a {used.vendor}; only a transaction of PostgreSQL can be joined.",
            field="connection",
        )

    def take(statement: Statement) -> str:
        try:
            with used.cursor() as cursor:
                cursor.execute(_written(statement, "%(p{})s"), _named(statement))
                return _only(cursor.fetchone())
        except SynchronousOnlyOperation as error:
            raise InvalidError(
                "Django's connections are not for async code: call enqueue_sync, inside sync_to_async where need be.",
                field="connection",
            ) from error

    return Driver(at_once=take)


def _written(statement: Statement, style: str) -> str:
    """The text with its parameters named as the driver wants them."""
    return _PARAMETER.sub(lambda found: style.format(found[1]), statement.text)


def _named(statement: Statement) -> dict[str, str | int | None]:
    return {f"p{place}": value for place, value in enumerate(statement.parameters, 1)}


def _only(row: tuple[object, ...] | None) -> str:
    assert row is not None, "the statement gives one row"
    # psycopg leaves texts undecoded where client_encoding is SQL_ASCII.
    return row[0].decode() if isinstance(row[0], bytes) else str(row[0])
