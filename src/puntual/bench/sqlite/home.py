"""SQLite files in a folder, removed with it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from puntual.bench.machine import cores, machine
from puntual.bench.sqlite.backlog import add_future, add_history
from puntual.bench.sqlite.floor import SqliteBare
from puntual.settings.database import database_path


class SqliteHome:
    """Files beside the one that ``DATABASE_URL`` names, on the same disk."""

    kind: Final = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The folder goes with whoever made it."""

    async def facts(self) -> dict[str, object]:
        """As ``Home.facts``."""
        return {**machine(self._folder), "database": f"SQLite {sqlite3.sqlite_version}", "cores": cores()}

    async def database(self) -> str:
        """As ``Home.database``."""
        return f"sqlite:///{self._path()}"

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[SqliteBare]:
        """As ``Home.bare``."""
        with SqliteBare(self._path()) as bare:
            yield bare

    async def add_future(self, url: str, count: int, now: int) -> None:
        """As ``Home.add_future``."""
        add_future(database_path(url), count, now)

    async def add_history(self, url: str, count: int, now: int) -> None:
        """As ``Home.add_history``."""
        add_history(database_path(url), count, now)

    def _path(self) -> str:
        return str(self._folder / f"bench-{next(self._numbers)}.db")
