"""What a store promises it promises behind a transaction pooler too: the parts of the suite with the most to lose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from puntual.store.contract import Store
from puntual.store.postgres import Place, PostgresStore
from puntual.testing.conformance import (
    TestClaim,
    TestHeartbeats,
    TestPlanWrites,
    TestRescue,
    TestSettleGuards,
    TestTwoStores,
    TestUniqueKeys,
)
from tests.support.databases import server
from tests.support.pgbouncer import pgbouncer

__all__ = [
    "TestClaim",
    "TestHeartbeats",
    "TestPlanWrites",
    "TestRescue",
    "TestSettleGuards",
    "TestTwoStores",
    "TestUniqueKeys",
]


@pytest.fixture(scope="module")
def pooler() -> Iterator[int]:
    """The port of a pooler in transaction mode, with fewer connections than are wanted."""
    with pgbouncer(server().port, {"default_pool_size": "4"}) as port:
        yield port


@asynccontextmanager
async def _opened(url: str, port: int) -> AsyncIterator[Store]:
    store = PostgresStore(Place(f"postgresql://postgres@127.0.0.1:{port}/{url.rpartition('/')[2]}", pooler=True))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store(url: str, pooler: int) -> AsyncIterator[Store]:
    """An open, empty store behind the pooler."""
    async with _opened(url, pooler) as store:
        yield store


@pytest.fixture
async def pair(url: str, pooler: int) -> AsyncIterator[tuple[Store, Store]]:
    """Two stores on one empty database, as two processes have them."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(_opened(url, pooler))
        yield first, await stack.enter_async_context(_opened(url, pooler))
