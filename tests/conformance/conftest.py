"""The stores under test: a file, and a database in memory that is served inline."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.store.contract import Store
from puntual.store.requests import Retention
from puntual.store.sqlite import SqliteStore


@asynccontextmanager
async def opened(path: str, *, inline: bool = False) -> AsyncIterator[SqliteStore]:
    """An open store, closed at the end."""
    store = SqliteStore(path, clock=SystemClock(), retention=Retention(), inline=inline)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture(params=["file", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    memory = request.param == "memory"
    async with opened(":memory:" if memory else str(tmp_path / "puntual.db"), inline=memory) as store:
        yield store


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Store, Store]]:
    """Two stores on one empty file, as two processes have them."""
    path = str(tmp_path / "puntual.db")
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(opened(path)), await stack.enter_async_context(opened(path))
