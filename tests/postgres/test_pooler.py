from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

import puntual
from puntual.model.errors import StoreUnusableError
from puntual.operations.local import LocalOperations
from puntual.operations.local.health import ready
from puntual.store.postgres import Opening, Place, PostgresStore
from puntual.store.postgres.session import Session
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Retention
from puntual.testing.conformance.build import new_run
from puntual.wake.postgres import PostgresWake
from tests.support.databases import server
from tests.support.pgbouncer import pgbouncer

#: What PgBouncer refuses unless it is told to leave it out.
IGNORED = "statement_timeout,lock_timeout,idle_in_transaction_session_timeout,enable_seqscan,jit"


def through(url: str, port: int) -> str:
    """The same database by way of a pooler."""
    return f"postgresql://postgres@127.0.0.1:{port}/{url.rpartition('/')[2]}"


@pytest.fixture(scope="module")
def pooler() -> Iterator[int]:
    """The port of a pooler in transaction mode."""
    with pgbouncer(server().port) as port:
        yield port


@pytest.fixture(scope="module")
def lenient() -> Iterator[int]:
    """The port of a pooler that leaves out what it does not know."""
    with pgbouncer(server().port, {"ignore_startup_parameters": IGNORED}) as port:
        yield port


@pytest.fixture
async def store(url: str, pooler: int) -> AsyncIterator[PostgresStore]:
    """A store behind the pooler, opened and migrated by way of it."""
    store = PostgresStore(Place(through(url, pooler), pooler=True), opening=Opening(migrate=True))
    await store.open()
    yield store
    await store.close()


async def test_everything_works_behind_a_transaction_pooler(store: PostgresStore) -> None:
    """Operations that share two connections of the server by turns, of one statement and of several."""
    runs = [new_run(number) for number in range(40)]
    await asyncio.gather(*(store.enqueue([run]) for run in runs))
    found = await asyncio.gather(*(store.get_run(run.id) for run in runs))
    assert {run.id for run in found if run is not None} == {run.id for run in runs}


async def test_statements_do_not_meet_those_of_others(url: str, pooler: int) -> None:
    """Each of many different ones at once gets the answer to itself."""
    session = Session(Place(through(url, pooler), pooler=True), Retention())
    await session.open()

    async def ask(tx: Tx, number: int) -> int:
        return int(await tx.connection.fetchval(f"SELECT $1::integer + {number}", number))

    async def one(number: int) -> int:
        return await session.single(lambda tx: ask(tx, number))

    try:
        assert await asyncio.gather(*(one(n) for n in range(300))) == [2 * n for n in range(300)]
    finally:
        await session.close()


async def test_a_pooler_that_nobody_spoke_of_is_named(url: str, pooler: int) -> None:
    """It refuses the settings of a direct connection, and the sentence says which setting of ours is wrong."""
    with pytest.raises(StoreUnusableError, match=r"a pooler lies between .*POOLER=transaction.*LISTEN_URL"):
        await PostgresStore(Place(through(url, pooler))).open()


async def test_a_lenient_pooler_that_nobody_spoke_of_is_noticed(url: str, lenient: int) -> None:
    """What was prepared on one connection of the server is not there on the next."""
    store = PostgresStore(Place(through(url, lenient)))

    async def use() -> None:
        await store.open()
        for _ in range(20):
            await asyncio.gather(*(store.ping() for _ in range(10)))

    try:
        with pytest.raises(StoreUnusableError, match=r"a pooler lies between .*POOLER=transaction"):
            await use()
    finally:
        await store.close()


async def test_a_listener_behind_a_pooler_says_that_it_hears_nothing(
    store: PostgresStore, url: str, pooler: int
) -> None:
    """LISTEN is accepted there and nothing ever arrives: its own word tells, and the sentence names the way out."""
    wake = PostgresWake(store.notify, Place(through(url, pooler), pooler=True).connect)
    wake.probe_takes = 0.2
    async with wake.listening():
        while wake.trouble is None:  # noqa: ASYNC110 - it has nobody to tell
            await asyncio.sleep(0.01)
        assert "set LISTEN_URL to PostgreSQL itself" in wake.trouble
    await wake.close()


async def test_a_process_whose_listener_is_deaf_says_so_in_its_health(
    store: PostgresStore, url: str, pooler: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It works as before: hints are speed, and no part of being ready."""
    monkeypatch.setattr("puntual.wake.postgres._PROBE_TAKES", 0.2)
    app = puntual.App(database_url=through(url, pooler), pooler="transaction")
    done = asyncio.Event()

    @app.task(name="task")
    async def task() -> None:
        done.set()

    async with app.running():
        while app.wake.trouble is None:  # noqa: ASYNC110 - it has nobody to tell
            await asyncio.sleep(0.01)
        checks = (await LocalOperations(app).health())["checks"]
        assert [check["ok"] for check in checks if check["name"] == "hints"] == [False]
        assert all(check.ok for check in await ready(app))
        await store.enqueue([new_run()])
        await done.wait()


async def test_a_listener_beside_the_pooler_hears_what_is_sent_through_it(store: PostgresStore, url: str) -> None:
    """With LISTEN_URL hints arrive as they do without a pooler."""
    heard = asyncio.Event()
    wake, other = (PostgresWake(store.notify, Place(url).connect) for _ in range(2))
    wake.subscribe(runs=heard.set)
    async with wake.listening():
        await heard.wait()  # Whoever begins to listen wakes everybody.
        heard.clear()
        other.hint(["default"])
        await heard.wait()
    await other.close()
    await wake.close()
