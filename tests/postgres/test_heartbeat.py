"""A heartbeat line: its own connection and loop, on one thread, never stuck, and nothing of it left behind."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

import asyncpg
import pytest

from puntual.model.errors import StoreUnavailableError
from puntual.store.contract import Store
from puntual.store.postgres import Place, heartbeat
from puntual.store.postgres.heartbeat import PostgresHeartbeatLine
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Beat
from puntual.testing.conformance.build import LEASE, join
from tests.support.databases import server
from tests.support.pgbouncer import pgbouncer
from tests.support.proxy import Proxy
from tests.support.rivals import rival

BEAT = Beat(worker="w1", lease_us=LEASE, held=0)
T = TypeVar("T")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that waits for 0.2 s only."""
    monkeypatch.setattr(heartbeat, "_PATIENCE", 0.2)
    monkeypatch.setattr(heartbeat, "_TO_CONNECT", 0.2)


@pytest.fixture
def deaf() -> Iterator[int]:
    """The port of a server that lets everybody in and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


async def _cut_the_heart(tx: Tx) -> None:
    """Ends the connection that calls itself by that name."""
    cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'heart'"
    assert await tx.connection.fetchval(cut)


async def _beside(work: Callable[[], T]) -> T:
    """On a thread that has no event loop."""
    return await asyncio.to_thread(work)


async def _lines(url: str) -> int:
    """How many other connections the database has."""
    connection = await asyncpg.connect(url)
    try:
        found: int = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        await connection.close()
    return found


class TestLine:
    """One connection for a worker's life."""

    async def test_it_connects_with_the_first_beat_and_only_once(self, store: Store, url: str) -> None:
        """It is none of the store's own connections, and takes no other."""
        await join(store, now=await store.now())
        before = await _lines(url)
        line = PostgresHeartbeatLine(Place(url=url))
        assert await _lines(url) == before

        def beats() -> list[bool]:
            return [line.beat(BEAT).alive for _ in range(5)]

        assert await _beside(beats) == [True] * 5
        assert await _lines(url) == before + 1
        await _beside(line.close)

    async def test_closing_leaves_nothing(self, store: Store, url: str) -> None:
        """No loop, no thread, no socket on either side; a line that never beat has none to begin with."""
        await join(store, now=await store.now())
        before, threads = await _lines(url), threading.active_count()

        def live() -> None:
            PostgresHeartbeatLine(Place(url=url)).close()
            with closing(PostgresHeartbeatLine(Place(url=url))) as line:
                assert line.beat(BEAT).alive

        thread = threading.Thread(target=live)
        thread.start()
        await asyncio.to_thread(thread.join)
        gc.collect()
        assert threading.active_count() <= threads + 1
        while await _lines(url) != before:
            """The server notices when it gets to it."""

    async def test_the_first_beat_has_the_time_that_connecting_has(self, store: Store, url: str) -> None:
        """It prepares its statement, so on a slow line it takes more than the quarter of a lease of those after it."""
        await join(store, now=await store.now())
        async with Proxy(server().port) as far:
            far.latency = 0.2
            line = PostgresHeartbeatLine(Place(url=far.through(url)))
            beat = Beat(worker="w1", lease_us=2_800_000, held=0)
            assert (await _beside(lambda: line.beat(beat))).alive
            await _beside(line.close)

    async def test_it_finds_the_host_that_answers(self, store: Store, url: str, impatient: None, deaf: int) -> None:
        """Of several, however the first ones fail."""
        await join(store, now=await store.now())
        with socket.create_server(("127.0.0.1", 0)) as closed:
            gone = closed.getsockname()[1]
        several = url.replace("127.0.0.1", f"127.0.0.1:{gone},127.0.0.1:{deaf},127.0.0.1")

        def beat() -> bool:
            with closing(PostgresHeartbeatLine(Place(url=several))) as line:
                return line.beat(BEAT).alive

        assert await _beside(beat)

    async def test_it_beats_through_a_transaction_pooler(self, store: Store, url: str) -> None:
        """Each beat may meet another connection of the server."""
        await join(store, now=await store.now())
        with pgbouncer(server().port) as port:
            through = f"postgresql://postgres@127.0.0.1:{port}/{url.rpartition('/')[2]}"

            def beats() -> list[bool]:
                with closing(PostgresHeartbeatLine(Place(url=through, pooler=True))) as line:
                    return [line.beat(BEAT).alive for _ in range(10)]

            assert await _beside(beats) == [True] * 10


class TestTrouble:
    """It says so within seconds, and the next beat begins anew."""

    async def test_a_server_that_says_nothing_is_given_up(self, impatient: None, deaf: int) -> None:
        """The thread is not stuck, and closing is not either."""

        def beat() -> None:
            line = PostgresHeartbeatLine(Place(url=f"postgresql://postgres@127.0.0.1:{deaf}/x"))
            with closing(line), pytest.raises(StoreUnavailableError):
                line.beat(BEAT)

        await _beside(beat)
        gc.collect()

    async def test_a_lock_that_is_held_for_long_is_not_waited_for(
        self, store: Store, url: str, impatient: None
    ) -> None:
        """The beat fails in time for another one, which succeeds once the row is free."""
        await join(store, now=await store.now())
        line = PostgresHeartbeatLine(Place(url=url))
        async with rival(url) as tx:
            await tx.connection.execute("SELECT FROM puntual.workers FOR UPDATE")
            with pytest.raises(StoreUnavailableError):
                await _beside(lambda: line.beat(BEAT))
        assert (await _beside(lambda: line.beat(BEAT))).alive
        await _beside(line.close)

    async def test_a_line_that_was_cut_is_made_anew(self, store: Store, url: str) -> None:
        """One beat says that the server is gone; the next connects."""
        await join(store, now=await store.now())
        line = PostgresHeartbeatLine(Place(url=f"{url}?application_name=heart"))
        await _beside(lambda: line.beat(BEAT))
        async with rival(url) as tx:
            await _cut_the_heart(tx)
        with pytest.raises(StoreUnavailableError):
            await _beside(lambda: line.beat(BEAT))
        assert (await _beside(lambda: line.beat(BEAT))).alive
        await _beside(line.close)

    async def test_closing_a_line_that_was_cut_is_no_error(self, store: Store, url: str) -> None:
        """There is nobody left to say farewell to."""
        await join(store, now=await store.now())
        line = PostgresHeartbeatLine(Place(url=f"{url}?application_name=heart"))
        await _beside(lambda: line.beat(BEAT))
        async with rival(url) as tx:
            await _cut_the_heart(tx)
        await _beside(line.close)
        await _beside(line.close)
        gc.collect()
