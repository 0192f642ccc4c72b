"""A process that is measured, or that measures itself: told what to do by its one argument, it answers by lines."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import AsyncExitStack
from typing import Final, Protocol, cast

import msgspec

from puntual.app import App
from puntual.bench.context import until
from puntual.bench.ends import CountingStore, count_ends, seconds_to_end
from puntual.bench.load import Noop, add_noop, calls
from puntual.bench.memory import resident
from puntual.engine.process import run_loop
from puntual.settings import Settings

#: How long a node that finds nothing takes until it only polls once a second, seconds.
_CALM: Final = 3.0
_LOOK: Final = 0.01
_TELLS: Final = 0.005


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to do."""

    kind: str
    database: str = ""
    step: int = 0
    first: int = 0
    last: int = 0
    count: int = 0
    seconds: int = 0


class Statements(Protocol):
    """Counts what the connections of this process execute, once it is told to begin."""

    all: int
    commits: int

    def begin(self) -> None:
        """Counts from now on."""
        ...


def _statements(order: Order) -> Statements:
    """For the kind of database that is used, before it is opened."""
    if order.database.startswith("sqlite:"):
        from puntual.bench.sqlite.statements import SqliteStatements  # noqa: PLC0415 - of the two, the one that is used

        return SqliteStatements()
    from puntual.bench.postgres.statements import PostgresStatements  # noqa: PLC0415 - as above

    return PostgresStatements()


async def drain(order: Order) -> None:
    """Says that it is ready, waits for the word, and works until it is ended, saying how many runs it has ended."""
    app, _ = _app(order)
    store = count_ends(app)
    async with app:
        _say("ready")
        await _told()
        async with app.running(roles=("worker",)):
            telling = asyncio.create_task(_tell(store))
            await _told()
            telling.cancel()


async def _tell(store: CountingStore) -> None:
    said = 0
    while True:
        await asyncio.sleep(_TELLS)
        if store.ended != said:
            said = store.ended
            _say(str(said))


async def grow(order: Order) -> None:
    """Says how many bytes it holds after the first and after the last of many runs."""
    app, noop = _app(order)
    store = count_ends(app)
    sizes = {}
    async with app.running():
        for done in range(order.step, order.last + 1, order.step):
            await app.enqueue_many(calls(noop, order.step))
            await until(lambda: store.ended >= done, _LOOK)  # noqa: B023 - awaited here
            if done in (order.first, order.last):
                gc.collect()
                sizes[done] = resident(os.getpid())
    _say(f"{sizes[order.first]} {sizes[order.last]}")


async def idle(order: Order) -> None:
    """Says how many statements it made in some seconds in which there was nothing to do."""
    statements = _statements(order)
    async with AsyncExitStack() as stack:
        for number in range(order.count):
            app, _ = _app(order)
            # One of them plans, as in a small fleet.
            await stack.enter_async_context(app.running(roles=("worker",) if number else ("scheduler", "worker")))
        await asyncio.sleep(_CALM)
        statements.begin()
        await asyncio.sleep(order.seconds)
        _say(str(statements.all))


async def commits(order: Order) -> None:
    """Says how many transactions it committed to take in a backlog and to work it off."""
    statements = _statements(order)
    app, noop = _app(order)
    store = count_ends(app)
    async with app:
        statements.begin()
        await app.enqueue_many(calls(noop, order.count))
        await seconds_to_end(app, store, order.count)
        _say(str(statements.commits))


async def echo(_order: Order) -> None:
    """Serves HTTP on a free port until it is ended, and says which; every request is answered at once."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Echo, "127.0.0.1", 0)
    async with server:
        _say(str(server.sockets[0].getsockname()[1]))
        await _told()


class _Echo(asyncio.Protocol):
    """Answers each request whose head has come, with keep-alive; bodies here are short and come with their head."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps it."""
        # uvloop's transports are none of asyncio's, to isinstance.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answers."""
        if b"\r\n\r\n" in data:
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}")


_KINDS = {"drain": drain, "grow": grow, "idle": idle, "commits": commits, "echo": echo}


def _app(order: Order) -> tuple[App, Noop]:
    app = App(Settings(database_url=order.database))
    return app, add_noop(app)


async def _told() -> None:
    """Waits for a line, or for the end of what the parent has to say."""
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Does what the argument says."""
    order = msgspec.json.decode(sys.argv[1], type=Order)
    run_loop(_KINDS[order.kind](order))


if __name__ == "__main__":
    main()
