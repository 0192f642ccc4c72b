"""A heartbeat line: a connection and an event loop of its own, for the one thread that beats."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from puntual.store.postgres import workers
from puntual.store.postgres.errors import CAUGHT, translate
from puntual.store.postgres.place import Place
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Beat, BeatReply, Retention

if TYPE_CHECKING:
    import asyncpg
    from asyncpg import Record

#: A beat that waits longer for its answer than this, seconds, is better tried again: the next one says the same.
_PATIENCE: Final = 3.0
#: So long may each host take to let us in: the first ones of a URL may be gone while another works.
_TO_CONNECT: Final = 2.0
#: A farewell that takes longer is left out.
_FAREWELL: Final = 1.0


class PostgresHeartbeatLine:
    """Connected by the first beat, on the thread that beats; after an error it connects anew."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: asyncpg.Connection[Record] | None = None

    def beat(self, beat: Beat) -> BeatReply:
        """As ``HeartbeatLine.beat``."""
        self._loop = self._loop or asyncio.new_event_loop()
        try:
            return self._loop.run_until_complete(self._beat(beat))
        except BaseException as error:
            self._end(self._loop, wait=0)
            if isinstance(error, CAUGHT):
                raise translate(error) from error
            raise

    def close(self) -> None:
        """As ``HeartbeatLine.close``."""
        if self._loop is not None:
            self._end(self._loop, wait=_FAREWELL)

    async def _beat(self, beat: Beat) -> BeatReply:
        lease = beat.lease_us / 1_000_000
        if self._connection is None:
            hosts = len(self._place.hosts)
            # The first beat prepares its statement: it belongs to connecting. All of it has a lease, in equal parts.
            async with asyncio.timeout(min(_PATIENCE + _TO_CONNECT * hosts, lease)):
                patience = min(_TO_CONNECT, lease / (hosts + 1))
                self._connection = await self._place.connect(patience=patience, answer=_PATIENCE)
                return await self._say(self._connection, beat)
        # Of four beats in a lease one may be lost, and no more than that.
        async with asyncio.timeout(min(_PATIENCE, lease / 4)):
            return await self._say(self._connection, beat)

    async def _say(self, connection: asyncpg.Connection[Record], beat: Beat) -> BeatReply:
        tx = Tx(connection, Retention(), given=None, now=0)
        if not self._place.pooler:
            return await workers.beat(tx, beat)
        # A statement is sent in two steps, which only a transaction keeps together behind a transaction pooler.
        async with tx.part():
            return await workers.beat(tx, beat)

    def _end(self, loop: asyncio.AbstractEventLoop, *, wait: float) -> None:
        """Leaves neither socket nor task nor loop behind."""
        self._loop = None
        try:
            loop.run_until_complete(self._disconnect(wait))
        finally:
            loop.close()

    async def _disconnect(self, wait: float) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and wait:
            try:
                await connection.close(timeout=wait)
            except CAUGHT:
                connection.terminate()
        elif connection is not None:
            connection.terminate()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # A transport lets go of its socket in the turn after it was told to.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
