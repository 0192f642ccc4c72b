"""Databases for the tests of the PostgreSQL store, each empty at first and gone in the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from puntual.store.contract import Store
from tests.support.databases import database, opened, server


@pytest.fixture(scope="session", autouse=True)
def _server() -> None:
    """The server outlives every test here, so it is there before the first one is watched for leaks."""
    server()


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """The URL of an empty database with our schema."""
    async with database() as url:
        yield url


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    """An open, empty store."""
    async with opened(url) as store:
        yield store


@pytest.fixture
async def pair(url: str) -> AsyncIterator[tuple[Store, Store]]:
    """Two stores on one empty database, as two processes have them."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(opened(url)), await stack.enter_async_context(opened(url))
