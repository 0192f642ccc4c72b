"""A file for a store, and a store on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.store.requests import Retention
from puntual.store.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a test keeps its database."""
    return str(tmp_path / "puntual.db")


@pytest.fixture
async def store(path: str) -> AsyncIterator[SqliteStore]:
    """An open, empty store on that file."""
    made = SqliteStore(path, clock=SystemClock(), retention=Retention())
    await made.open()
    yield made
    await made.close()
