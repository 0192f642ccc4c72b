"""Databases of the tests' own server: one server for each process that asks, a new database for each test."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache

import asyncpg

from puntual.store.postgres import Place, PostgresStore
from puntual.store.postgres.migrate import migrate
from puntual.store.requests import Retention
from tests.support.postgres import PostgresServer, system_programs

#: ``PUNTUAL_TEST_POSTGRES=system`` runs the tests on the server that the system brings.
_SYSTEM = "system"
_numbers = itertools.count()
_TEMPLATE = "puntual_template"


@cache
def server() -> PostgresServer:
    """The server of this process, started when first asked for and removed with the process."""
    programs = None
    if os.environ.get("PUNTUAL_TEST_POSTGRES") == _SYSTEM:
        programs = system_programs()
        assert programs is not None, "PUNTUAL_TEST_POSTGRES=system, and the system has no PostgreSQL server"
    made = PostgresServer(programs)
    atexit.register(made.close)
    made.init()
    made.start()
    made.execute(f"CREATE DATABASE {_TEMPLATE}")

    async def prepare() -> None:
        # Without days of history: they hang on today's date, and are a thousand files for each test to copy.
        await migrate(Place(url=made.url(_TEMPLATE)))

    # Not on this thread: a test's loop may be running here.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, prepare()).result()
    return made


@asynccontextmanager
async def database(*, migrated: bool = True) -> AsyncIterator[str]:
    """The URL of a database of its own, removed in the end; with our schema unless told otherwise."""
    name = f"test_{next(_numbers)}"
    at = await asyncio.to_thread(server)
    connection = await asyncpg.connect(at.url())
    try:
        template = f" TEMPLATE {_TEMPLATE}" if migrated else ""
        await connection.execute(f"CREATE DATABASE {name}{template}")
        try:
            yield at.url(name)
        finally:
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()


@asynccontextmanager
async def opened(url: str, *, retention: Retention = Retention()) -> AsyncIterator[PostgresStore]:  # noqa: B008 - a frozen value
    """An open store on a migrated database, closed in the end."""
    store = PostgresStore(Place(url=url), retention=retention)
    await store.open()
    try:
        yield store
    finally:
        await store.close()
