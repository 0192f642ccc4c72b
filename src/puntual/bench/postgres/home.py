"""Databases on a PostgreSQL server, made one after another and dropped in the end."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from puntual.bench.home import Bare
from puntual.bench.machine import cores, machine
from puntual.bench.postgres.backlog import add_future, add_history
from puntual.bench.postgres.floor import PostgresBare
from puntual.store.postgres import Opening, Place, PostgresStore

#: What the figures depend on most: without these a commit is no promise.
_DURABLE: Final = ("fsync", "synchronous_commit", "full_page_writes")


class PostgresHome:
    """Databases beside the one that ``DATABASE_URL`` names; its role must be allowed to make them.

    Args:
        url: of any database on the server.
        folder: on the file system whose durable writes are timed.
    """

    kind: Final = "postgres"

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._made: list[str] = []
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        connection = await asyncpg.connect(self._url)
        try:
            for name in self._made:
                await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        finally:
            await connection.close()

    async def facts(self) -> dict[str, object]:
        """As ``Home.facts``."""
        connection = await asyncpg.connect(self._url)
        try:
            version = await connection.fetchval("SHOW server_version")
            settings = [f"{name} {await connection.fetchval(f'SHOW {name}')}" for name in _DURABLE]
        finally:
            await connection.close()
        return {**machine(self._folder), "database": f"PostgreSQL {version} ({', '.join(settings)})", "cores": cores()}

    async def database(self) -> str:
        """As ``Home.database``."""
        name = f"puntual_bench_{os.getpid()}_{next(self._numbers)}"
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute(f'CREATE DATABASE "{name}"')
        finally:
            await connection.close()
        self._made.append(name)
        url = urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))
        store = PostgresStore(Place(url=url), opening=Opening(migrate=True))
        await store.open()
        await store.close()
        return url

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[Bare]:
        """As ``Home.bare``."""
        bare = await PostgresBare.connect(await self.database())
        try:
            yield bare
        finally:
            await bare.close()

    async def add_future(self, url: str, count: int, now: int) -> None:
        """As ``Home.add_future``."""
        await add_future(url, count, now)

    async def add_history(self, url: str, count: int, now: int) -> None:
        """As ``Home.add_history``."""
        await add_history(url, count, now)
