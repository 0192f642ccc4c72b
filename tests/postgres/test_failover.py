from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import asyncpg
import pytest

import puntual
from puntual.model.errors import StoreError
from puntual.store.contract import Store
from puntual.store.postgres import Opening, Place, PostgresStore
from puntual.testing.conformance.build import new_run
from tests.support.postgres import PostgresServer, running_server

#: A commit counts when the standby has it, so that whatever was accepted outlives the primary.
SYNCHRONOUS = {"synchronous_commit": "on"}


@pytest.fixture(scope="module")
def primary() -> Iterator[PostgresServer]:
    """A server with an empty schema of ours."""
    with running_server(settings=SYNCHRONOUS) as server:
        asyncio.run(_migrate(server))
        yield server


@pytest.fixture(scope="module")
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    """Its copy, for which it waits at each commit."""
    server = PostgresServer(settings=SYNCHRONOUS)
    try:
        server.follow(primary, "standby")
        server.start()
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.execute("SELECT pg_reload_conf()")
        asyncio.run(_in_step(primary))
        yield server
    finally:
        server.close()


async def _migrate(server: PostgresServer) -> None:
    store = PostgresStore(Place(server.url()), opening=Opening(migrate=True))
    await store.open()
    await store.close()


async def _in_step(primary: PostgresServer) -> None:
    connection = await asyncpg.connect(primary.url())
    while await connection.fetchval("SELECT sync_state FROM pg_stat_replication") != "sync":  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)
    await connection.close()


@pytest.fixture
def app(primary: PostgresServer, standby: PostgresServer) -> puntual.App:
    """An app that knows both, the standby first."""
    hosts = f"127.0.0.1:{standby.port},127.0.0.1:{primary.port}"
    return puntual.App(database_url=f"postgresql://postgres@{hosts}/postgres", lease_ttl="2s")


class Enqueues:
    """A client that enqueues one run after another, and goes on by itself when it could not."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wanted: list[tuple[int, asyncio.Event]] = []
        self.accepted: list[str] = []
        self.refused = 0

    async def more(self, count: int) -> None:
        """Returns when so many more have been accepted."""
        event = asyncio.Event()
        self._wanted.append((len(self.accepted) + count, event))
        await event.wait()

    async def run(self) -> None:
        """Enqueues until it is cancelled; what may have been accepted is asked for again."""
        again = False
        while True:
            run = new_run(len(self.accepted) + 1)
            try:
                await self._store.enqueue([run], repeat=again)
            except StoreError:
                self.refused += 1
                again = True
                await asyncio.sleep(0.02)
                continue
            again = False
            self.accepted.append(run.id)
            for wanted, event in self._wanted:
                if len(self.accepted) >= wanted:
                    event.set()


async def test_a_promotion_loses_nothing_that_was_accepted(
    primary: PostgresServer, standby: PostgresServer, app: puntual.App
) -> None:
    """The primary dies under load and its standby takes over: what was accepted is executed, and nobody has to help."""
    executed: set[str] = set()
    more = asyncio.Event()

    @app.task(name="task")
    async def task(run: puntual.Run) -> None:
        executed.add(run.id)
        more.set()

    async with app.running():
        client = Enqueues(app.store)
        enqueuing = asyncio.create_task(client.run())
        await client.more(200)
        await asyncio.to_thread(primary.stop, signal.SIGQUIT)
        await asyncio.to_thread(standby.execute, "SELECT pg_promote()")
        await client.more(200)
        enqueuing.cancel()
        await asyncio.gather(enqueuing, return_exceptions=True)
        heard = asyncio.Event()
        app.wake.subscribe(runs=heard.set)
        async with puntual.App(database_url=standby.url()) as other:
            await other.store.enqueue([last := new_run(0)])
            other.wake.hint(["default"])
        await heard.wait()
        while not executed >= {*client.accepted, last.id}:
            more.clear()
            await more.wait()
        assert app.wake.trouble is None
    assert client.refused
