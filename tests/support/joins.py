"""Every kind of connection whose transaction an enqueue can join, as a test wants it: begun, used, ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import asyncpg
import psycopg
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker


class Open(NamedTuple):
    """A transaction of an application's: what it gives to ``connection=``, and how it ends."""

    connection: Any
    execute: Callable[[str], Awaitable[Any]]
    commit: Callable[[], Awaitable[Any]]
    rollback: Callable[[], Awaitable[Any]]


def later(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """A function that blocks, as one to await."""

    async def call(*args: Any) -> Any:
        return function(*args)

    return call


@asynccontextmanager
async def with_asyncpg(url: str) -> AsyncIterator[Open]:
    """A connection of asyncpg."""
    connection = await asyncpg.connect(url)
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield Open(connection, connection.execute, transaction.commit, transaction.rollback)
    finally:
        await connection.close()


@asynccontextmanager
async def with_asyncpg_pool(url: str) -> AsyncIterator[Open]:
    """A connection that asyncpg's pool lends."""
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as pool, pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield Open(connection, connection.execute, transaction.commit, transaction.rollback)


@asynccontextmanager
async def with_psycopg(url: str) -> AsyncIterator[Open]:
    """A connection of psycopg; rows are dictionaries here, which is the application's affair."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        yield Open(connection, later(connection.execute), later(connection.commit), later(connection.rollback))


@asynccontextmanager
async def with_async_psycopg(url: str) -> AsyncIterator[Open]:
    """An async one."""
    async with await psycopg.AsyncConnection.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        yield Open(connection, connection.execute, connection.commit, connection.rollback)


def _engine(url: str) -> sqlalchemy.Engine:
    return sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sqlalchemy.NullPool)


@asynccontextmanager
async def with_sqlalchemy(url: str) -> AsyncIterator[Open]:
    """A connection of SQLAlchemy."""
    with _engine(url).connect() as connection:

        def execute(statement: str) -> object:
            return connection.execute(sqlalchemy.text(statement))

        yield Open(connection, later(execute), later(connection.commit), later(connection.rollback))


@asynccontextmanager
async def with_session(url: str) -> AsyncIterator[Open]:
    """A session of SQLAlchemy."""
    with Session(_engine(url)) as session:

        def execute(statement: str) -> object:
            return session.execute(sqlalchemy.text(statement))

        yield Open(session, later(execute), later(session.commit), later(session.rollback))


@asynccontextmanager
async def with_scoped_session(url: str) -> AsyncIterator[Open]:
    """A session that SQLAlchemy keeps for each thread, as web frameworks have it."""
    scoped = scoped_session(sessionmaker(_engine(url)))

    def execute(statement: str) -> object:
        return scoped.execute(sqlalchemy.text(statement))

    try:
        yield Open(scoped, later(execute), later(scoped.commit), later(scoped.rollback))
    finally:
        scoped.remove()


def _async_way(driver: str, kind: str) -> Callable[[str], AbstractAsyncContextManager[Open]]:
    @asynccontextmanager
    async def way(url: str) -> AsyncIterator[Open]:
        engine = create_async_engine(url.replace("postgresql:", f"postgresql+{driver}:"), poolclass=sqlalchemy.NullPool)
        kinds: dict[str, Callable[[], Any]] = {
            "connection": engine.connect,
            "session": lambda: AsyncSession(engine),
            "scoped": lambda: async_scoped_session(async_sessionmaker(engine), scopefunc=lambda: 0),
        }
        made = kinds[kind]()
        connection = await made.start() if kind == "connection" else made

        async def execute(statement: str) -> object:
            return await connection.execute(sqlalchemy.text(statement))

        try:
            yield Open(connection, execute, connection.commit, connection.rollback)
        finally:
            await connection.close()
            await engine.dispose()

    return way


Way = Callable[[str], AbstractAsyncContextManager[Open]]
#: Those that block are used from async code too: it is the application's choice.
WAYS: dict[str, Way] = {
    "asyncpg": with_asyncpg,
    "asyncpg_pool": with_asyncpg_pool,
    "psycopg": with_psycopg,
    "psycopg_async": with_async_psycopg,
    "sqlalchemy": with_sqlalchemy,
    "sqlalchemy_session": with_session,
    "sqlalchemy_scoped": with_scoped_session,
    "sqlalchemy_asyncpg": _async_way("asyncpg", "connection"),
    "sqlalchemy_psycopg_async": _async_way("psycopg", "connection"),
    "sqlalchemy_async_session": _async_way("asyncpg", "session"),
    "sqlalchemy_async_scoped": _async_way("asyncpg", "scoped"),
}
BLOCKING = ("psycopg", "sqlalchemy", "sqlalchemy_session")
