"""A few connections, shared: the one used last is used next, and whoever waits is served in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

import asyncpg

from puntual.model.errors import StoreBusyError, StoreUnavailableError
from puntual.store.postgres.errors import ServerCrowdedError

if TYPE_CHECKING:
    from asyncpg import Record

Connection: TypeAlias = "asyncpg.Connection[Record]"

#: Seconds to wait for a free connection.
_PATIENCE: Final = 10.0
#: What was not used for this long is closed, seconds.
_UNUSED: Final = 60.0
#: Seconds that closing may take.
_TO_CLOSE: Final = 5.0


class Pool:
    """At most ``most`` connections, made when they are needed.

    asyncpg's own pool spends two tasks and a proxy on each use, which is half of what an empty statement costs.

    Args:
        connect: makes one.
        most: how many there may be.
        cut: called when one that nobody used turns out to be cut: its server may be gone, and no statement tells.
    """

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], most: int, *, cut: Callable[[], None] = lambda: None
    ) -> None:
        self._connect = connect
        self._most = most
        self._cut = cut
        self._idle: deque[tuple[Connection, float]] = deque()
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._old: set[Connection] = set()
        self._out: set[Connection] = set()
        self._slots = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def acquire(self) -> Connection:
        """A connection for the caller alone, to be given back.

        Raises:
            StoreBusyError: all were in use for longer than we wait.
            StoreUnavailableError: none can be made.
        """
        crowded = False
        while True:
            if self._closed:
                raise StoreUnavailableError("The store is not open: open it before it is used.")
            found = self._rested()
            if found is None and (crowded or self._slots == self._most):
                found = await self._in_turn()
            elif found is None:
                self._slots += 1
            if found is not None:
                return found
            # From here on one of the slots is ours.
            try:
                connection = await self._connect()
            except BaseException as error:
                if isinstance(error, ServerCrowdedError) and self._slots > 1:
                    self._slots -= 1
                    crowded = True
                    continue
                self._pass_on(None)
                raise
            self._out.add(connection)
            return connection

    def release(self, connection: Connection) -> None:
        """Gives one back; one that is closed, or of a server that was lost, is replaced when it is needed."""
        self._out.discard(connection)
        given_up = connection in self._old or self._closed
        self._old.discard(connection)
        # One that was terminated has nothing left that could be asked about its transaction.
        if not connection.is_closed() and (given_up or connection.is_in_transaction()):
            connection.terminate()
        if connection.is_closed():
            self._pass_on(None)
            return
        self._pass_on(connection)
        oldest, since = self._idle[0] if self._idle else (connection, monotonic())
        if oldest is not connection and monotonic() - since > _UNUSED:
            self._idle.popleft()
            self._slots -= 1
            self._close(oldest)

    def renew(self, connection: Connection) -> bool:
        """Gives up every connection, as this one showed that its server is gone: those in use when they come back.

        Returns:
            False when that was known, and whoever asks came late: there may be connections to the next server already.
        """
        if connection in self._old:
            return False
        self._old |= self._out
        while self._idle:
            resting, _ = self._idle.pop()
            self._slots -= 1
            resting.terminate()
        return True

    async def close(self) -> None:
        """Closes every connection; nobody may use one any more."""
        self._closed = True
        while self._idle:
            self._close(self._idle.pop()[0])
        for connection in self._out:
            connection.terminate()
        while self._closing:
            await asyncio.wait(self._closing)

    def _rested(self) -> Connection | None:
        """The one used last, of those that were not cut since."""
        found = None
        before = self._slots
        while self._idle and found is None:
            connection, _ = self._idle.pop()
            if connection.is_closed():
                self._slots -= 1
            else:
                found = connection
                self._out.add(connection)
        if self._slots < before:
            self._cut()
        return found

    async def _in_turn(self) -> Connection | None:
        """One that somebody gives back, None for the right to make one in its place."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[Connection | None] = loop.create_future()
        self._waiting.append(waiting)
        timer = loop.call_later(_PATIENCE, _give_up, waiting, self._slots)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._pass_on(waiting.result())
            raise
        finally:
            timer.cancel()

    def _pass_on(self, connection: Connection | None) -> None:
        """To whoever has waited longest: a connection, or the right to make one."""
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                if connection is not None:
                    self._out.add(connection)
                waiting.set_result(connection)
                return
        if connection is None:
            self._slots -= 1
        else:
            self._out.discard(connection)
            self._idle.append((connection, monotonic()))

    def _close(self, connection: Connection) -> None:
        task = asyncio.ensure_future(_closed(connection))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _closed(connection: Connection) -> None:
    try:
        await connection.close(timeout=_TO_CLOSE)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        connection.terminate()


def _give_up(waiting: asyncio.Future[Connection | None], count: int) -> None:
    if not waiting.done():
        waiting.set_exception(
            StoreBusyError(f"All {count} connections to PostgreSQL are in use for longer than we wait: try again.")
        )
