"""Transactions on a pool of connections: begun anew where the database asks for it, never taken back by a caller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from puntual.model.errors import StoreUnavailableError
from puntual.store.postgres.errors import AGAIN, CAUGHT, lost_server, translate
from puntual.store.postgres.place import Place
from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Retention

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import Pool

R = TypeVar("R")
Work = Callable[[Tx], Awaitable[R]]

#: How often a transaction that deadlocked or could not be put in order is begun anew.
_TRIES = 5
#: Seconds to wait for a free connection, or for a new one.
_PATIENCE = 10.0


class Session:
    """The connections of one process.

    Three ways to use one: ``write`` is a transaction, whose time is read after it has its number, so that no claimer's
    floor passes a row that it makes claimable; ``single`` is one statement that is its own transaction; ``read`` is the
    same for statements that only read.
    """

    def __init__(self, place: Place, retention: Retention) -> None:
        self._place = place
        self._retention = retention
        self._pool: Pool[Record] | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        #: Called when the server was lost: what was known of it may not hold of the one that comes next.
        self.lost: list[Callable[[], None]] = []

    @property
    def pool(self) -> Pool[Record]:
        """The open pool."""
        if self._pool is None:
            raise StoreUnavailableError("The store is not open: open it before it is used.")
        return self._pool

    async def open(self) -> None:
        """Connects."""
        try:
            self._pool = await self._place.make_pool()
        except CAUGHT as error:
            raise translate(error) from error

    async def close(self) -> None:
        """Waits for what is under way, then closes every connection."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def write(self, work: Work[R], *, now: int | None = None) -> R:
        """Does an operation in a transaction of several statements."""

        async def do(connection: asyncpg.pool.PoolConnectionProxy[Record]) -> R:
            async with connection.transaction():
                clock: int = await connection.fetchval(sql("clock"))
                return await work(Tx(connection, self._retention, given=now, now=clock if now is None else now))

        return await self._shielded(do)

    async def single(self, work: Work[R], *, now: int | None = None) -> R:
        """Does an operation of one statement, which reads the clock itself: ``Tx.now`` is 0 where no time was given."""

        async def do(connection: asyncpg.pool.PoolConnectionProxy[Record]) -> R:
            return await work(Tx(connection, self._retention, given=now, now=now or 0))

        return await self._shielded(do)

    async def read(self, work: Work[R], *, now: int | None = None) -> R:
        """As ``single``, for what only reads; ``Tx.now`` is the time of the database where none was given."""

        async def do(connection: asyncpg.pool.PoolConnectionProxy[Record]) -> R:
            clock: int = await connection.fetchval(sql("now")) if now is None else now
            return await work(Tx(connection, self._retention, given=now, now=clock))

        return await self._shielded(do)

    async def _shielded(self, do: Callable[[asyncpg.pool.PoolConnectionProxy[Record]], Awaitable[R]]) -> R:
        """Runs to its end though whoever waits be cancelled: a claim is not given up on between send and answer."""
        task: asyncio.Task[R] = asyncio.ensure_future(self._tried(do))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _tried(self, do: Callable[[asyncpg.pool.PoolConnectionProxy[Record]], Awaitable[R]]) -> R:
        for again in range(_TRIES):
            try:
                async with self.pool.acquire(timeout=_PATIENCE) as connection:
                    return await do(connection)
            except AGAIN as error:
                if again == _TRIES - 1:
                    raise translate(error) from error
            except CAUGHT as error:
                await self._note(error)
                raise translate(error) from error
        raise AssertionError

    async def _note(self, error: BaseException) -> None:
        """After a failover every connection leads to a server that is gone or cannot be written to."""
        if lost_server(error) and self._pool is not None:
            await self._pool.expire_connections()
            for forget in self.lost:
                forget()
