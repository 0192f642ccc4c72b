"""A transaction of another process, as far as it has come: what meets it must wait, or pass it by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Retention
from puntual.testing.conformance.build import NOW

#: Seconds after which a test fails in which nobody comes.
_NOT_FOR_EVER = 30


@asynccontextmanager
async def rival(url: str, *, now: int = NOW) -> AsyncIterator[Tx]:
    """An open transaction on a connection of its own, committed in the end."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            yield Tx(connection, Retention(), given=now, now=now)
    finally:
        await connection.close()


async def somebody_waits(tx: Tx) -> None:
    """Returns once another connection waits for what this transaction holds."""
    mine = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
    async with asyncio.timeout(_NOT_FOR_EVER):
        while not await tx.connection.fetchval(mine):
            pass
