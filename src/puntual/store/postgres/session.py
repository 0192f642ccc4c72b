"""Transactions on a few connections: begun anew where the database asks for it, never taken back by a caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import SystemRandom
from time import monotonic
from typing import Final, TypeVar

import msgspec

from puntual.model.errors import StoreUnavailableError
from puntual.store.postgres.errors import AGAIN, CAUGHT, lost_server, translate
from puntual.store.postgres.place import Place
from puntual.store.postgres.pool import Connection, Pool
from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Retention

R = TypeVar("R")
Work = Callable[[Tx], Awaitable[R]]
_Do = Callable[[Connection], Awaitable[R]]

#: How often a transaction that deadlocked or could not be put in order is begun anew.
_TRIES: Final = 5
#: Seconds before the second try, at most; each next one may wait twice as long.
_PAUSE: Final = 0.01


class Surroundings(msgspec.Struct, frozen=True):
    """What a store goes by beside its database.

    Args:
        steady: seconds of a clock that nobody sets.
        fraction: chance in [0, 1).
    """

    steady: Callable[[], float] = monotonic
    fraction: Callable[[], float] = SystemRandom().random


class Session:
    """The connections of one process.

    Three ways to use one: ``write`` is a transaction, whose time is read after it has its number, so that no claimer's
    floor passes a row that it makes claimable; ``single`` is one statement that is its own transaction; ``read`` is the
    same for statements that only read.
    """

    def __init__(
        self,
        place: Place,
        retention: Retention,
        around: Surroundings = Surroundings(),  # noqa: B008 - a frozen value
    ) -> None:
        self.around = around
        self._place = place
        self._retention = retention
        self._pool: Pool | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        #: Called when the server was lost: what was known of it may not hold of the one that comes next.
        self.lost: list[Callable[[], None]] = []

    async def open(self) -> None:
        """Connects."""
        pool = Pool(self._place.connect, self._place.most, cut=self._forget)
        pool.release(await pool.acquire())
        self._pool = pool

    async def close(self) -> None:
        """Waits for what is under way, then closes every connection."""
        while self._tasks:
            await asyncio.wait(self._tasks)
            # Operations of several transactions begin their next one now.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def write(self, work: Work[R], *, now: int | None = None) -> R:
        """Does an operation in a transaction of several statements."""

        async def do(connection: Connection) -> R:
            async with _transaction(connection):
                clock: int = await connection.fetchval(sql("clock"))
                return await work(Tx(connection, self._retention, given=now, now=clock if now is None else now))

        return await self._shielded(do)

    async def single(self, work: Work[R], *, now: int | None = None) -> R:
        """Does an operation of one statement, which reads the clock itself: ``Tx.now`` is 0 where no time was given."""

        async def do(connection: Connection) -> R:
            return await work(Tx(connection, self._retention, given=now, now=now or 0))

        return await self._shielded(do)

    async def read(self, work: Work[R], *, now: int | None = None) -> R:
        """As ``single``, for what only reads; ``Tx.now`` is the time of the database where none was given."""

        async def do(connection: Connection) -> R:
            clock: int = await connection.fetchval(sql("now")) if now is None else now
            return await work(Tx(connection, self._retention, given=now, now=clock))

        return await self._shielded(do)

    async def _shielded(self, do: _Do[R]) -> R:
        """Runs to its end though whoever waits be cancelled: a claim is not given up on between send and answer."""
        task: asyncio.Task[R] = asyncio.ensure_future(self._tried(do))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _tried(self, do: _Do[R]) -> R:
        tries = 0
        while True:
            try:
                return await self._once(do)
            except AGAIN as error:
                tries += 1
                if tries == _TRIES:
                    raise translate(error) from error
            await asyncio.sleep(_PAUSE * 2**tries * self.around.fraction())

    async def _once(self, do: _Do[R]) -> R:
        pool = self._pool
        if pool is None:
            raise StoreUnavailableError("The store is not open: open it before it is used.")
        connection = await pool.acquire()
        try:
            return await do(connection)
        except AGAIN:
            raise
        except CAUGHT as error:
            # After a failover every connection leads to a server that is gone or cannot be written to.
            if lost_server(error) and pool.renew(connection):
                self._forget()
            raise translate(error) from error
        except asyncio.CancelledError:
            connection.terminate()
            raise
        finally:
            pool.release(connection)

    def _forget(self) -> None:
        for forget in self.lost:
            forget()


@asynccontextmanager
async def _transaction(connection: Connection) -> AsyncIterator[None]:
    """Commits, or rolls back; where the server does not answer nobody waits for it to say so again."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    except BaseException as error:
        if isinstance(error, TimeoutError | asyncio.CancelledError):
            connection.terminate()
        elif not connection.is_closed():
            await transaction.rollback()
        raise
    await transaction.commit()
