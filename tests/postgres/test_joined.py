from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest

from puntual import App
from puntual.model.errors import InvalidError, StoreBusyError, StoreDataError, StoreUnusableError
from puntual.model.run import Run
from puntual.model.task import Task
from puntual.settings import Settings
from puntual.store.postgres import Place, PostgresStore
from puntual.store.postgres import enqueue as enqueue_module
from puntual.testing.conformance.build import LEASE, new_run, wanting, worker
from puntual.wake.contract import CHANNEL, RUNS
from tests.support.databases import database
from tests.support.joins import BLOCKING, WAYS, Way, with_asyncpg, with_psycopg, with_sqlalchemy

Send = Task[..., Any]


@pytest.fixture
async def app(url: str) -> AsyncIterator[App]:
    """An open app on the test's database."""
    app = App(Settings(database_url=url))
    app.task(name="send")(_send)
    async with app:
        yield app


@pytest.fixture
async def look(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A connection of somebody else's."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
def send(app: App) -> Send:
    """A task of it."""
    return app.registry.get("send")


def _send(number: int, note: str = "") -> None:
    """Does nothing."""


async def ids(url: str) -> list[str]:
    """The runs that others see."""
    connection = await asyncpg.connect(url)
    try:
        return [row[0] for row in await connection.fetch("SELECT id::text FROM puntual.runs ORDER BY id")]
    finally:
        await connection.close()


async def until_somebody_waits(url: str) -> None:
    """Until a transaction waits for another."""
    connection = await asyncpg.connect(url)
    try:
        while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110 - the server has no event
            await asyncio.sleep(0)
    finally:
        await connection.close()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
class TestEveryDriver:
    """A run belongs to the transaction of the connection, whichever driver it is of."""

    async def test_a_commit_makes_it_a_run(self, way: Way, send: Send, app: App, url: str) -> None:
        """Nobody sees it before; then it is there whole, with the id that was answered and the application's rows."""
        async with way(url) as mine:
            await mine.execute("CREATE TABLE invoices AS SELECT 7 AS id")
            handle = await send.options(connection=mine.connection, queue="mail").enqueue(7, note="ñ % :x $1 \\u0041")
            assert await ids(url) == []
            await mine.commit()
        assert await ids(url) == [handle.id]
        row = await _row(url, handle.id)
        assert (row["task"], row["queue"], row["state"]) == ("send", "mail", "pending")
        assert row["args"] == '{"number":7,"note":"ñ % :x $1 \\\\u0041"}'
        assert row["claim_at"] == row["due_at"] == row["created_at"]
        assert row["invoices"] == 1

    async def test_a_rollback_leaves_nothing(self, way: Way, send: Send, url: str) -> None:
        """It was never queued; the connection is as good as before."""
        async with way(url) as mine:
            await send.options(connection=mine.connection).enqueue(7)
            await mine.rollback()
        assert await ids(url) == []

    async def test_a_key_that_is_held_names_its_run(self, way: Way, send: Send, url: str) -> None:
        """As without a connection; and the transaction waits for locks no longer and no shorter than before."""
        held = await send.options(unique_key="k").enqueue(1)
        async with way(url) as mine:
            await mine.execute("SET LOCAL lock_timeout = '123ms'")
            handle = await send.options(connection=mine.connection, unique_key="k").enqueue(2)
            other = await send.options(connection=mine.connection, unique_key="l").enqueue(2)
            await mine.execute("CREATE TABLE seen AS SELECT current_setting('lock_timeout') AS lock_timeout")
            await mine.commit()
        assert handle.id == held.id
        assert await ids(url) == sorted([held.id, other.id])
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT lock_timeout FROM seen") == "123ms"
        await connection.close()

    async def test_a_key_of_an_open_transaction_is_named(
        self, way: Way, send: Send, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is waited for, but not for ever."""
        monkeypatch.setattr(enqueue_module, "PATIENCE_MS", 50)
        async with with_asyncpg(url) as other, way(url) as mine:
            await send.options(connection=other.connection, unique_key="k").enqueue(1)
            with pytest.raises(StoreBusyError, match="The unique key 'k' of the task send is held by another"):
                await send.options(connection=mine.connection, unique_key="k").enqueue(2)
            await mine.rollback()
            await other.commit()
        assert len(await ids(url)) == 1

    async def test_many_at_once(self, way: Way, app: App, send: Send, url: str) -> None:
        """All of them in the one transaction, with the ids in the order of the calls."""
        async with way(url) as mine:
            made = await app.enqueue_many([send.call(n) for n in range(500)], connection=mine.connection)
            assert await ids(url) == []
            await mine.commit()
        assert await ids(url) == sorted(made) == made


async def test_a_worker_starts_what_was_committed(app: App, send: Send, url: str) -> None:
    """However long the transaction took after the enqueue, and although others were claimed meanwhile."""
    async with with_asyncpg(url) as mine:
        slow = await send.options(connection=mine.connection).enqueue(1)
        await app.store.register_worker(worker(tasks=("send",)), lease_us=LEASE)
        for _ in range(3):
            quick = await send.enqueue(2)
            assert [run.id for run in await _claimed(app)] == [quick.id]
        await mine.commit()
    assert [run.id for run in await _claimed(app)] == [slow.id]


async def _claimed(app: App) -> tuple[Run, ...]:
    return (await app.store.claim(wanting(tasks=("send",)))).runs


@pytest.mark.parametrize("name", ["asyncpg", "psycopg", "sqlalchemy", "sqlalchemy_asyncpg"])
async def test_a_database_without_puntual_is_said_so(name: str, send: Send) -> None:
    """A connection to somewhere else is the usual slip."""
    async with database(migrated=False) as elsewhere, WAYS[name](elsewhere) as mine:
        with pytest.raises(StoreUnusableError, match="connection= takes one to the database that DATABASE_URL"):
            await send.options(connection=mine.connection).enqueue(7)
        await mine.rollback()


@pytest.mark.parametrize("name", BLOCKING)
async def test_code_that_is_not_async_joins_on_its_own_thread(name: str, app: App, send: Send, url: str) -> None:
    """``enqueue_sync`` and ``enqueue_many_sync`` use the connection where the caller does."""
    async with WAYS[name](url) as mine:
        handle = await asyncio.to_thread(lambda: send.options(connection=mine.connection).enqueue_sync(7))
        more = await asyncio.to_thread(lambda: app.enqueue_many_sync([send.call(8)], connection=mine.connection))
        assert await ids(url) == []
        await mine.commit()
    assert await ids(url) == sorted([handle.id, *more])


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
async def test_a_stricter_transaction_enqueues_into_a_new_queue(send: Send, url: str, level: str) -> None:
    """What it sees of the database may be older than the queue."""
    async with with_psycopg(url) as mine:
        await mine.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        await mine.execute("SELECT count(*) FROM puntual.lanes")
        handle = await send.options(connection=mine.connection, queue="new", unique_key="k").enqueue(7)
        await mine.commit()
    assert await ids(url) == [handle.id]


async def test_outside_a_transaction_it_is_committed_at_once(send: Send, url: str) -> None:
    """A connection in autocommit mode has no transaction to wait for."""
    connection = await asyncpg.connect(url)
    handle = await send.options(connection=connection, unique_key="k").enqueue(7)
    assert await ids(url) == [handle.id]
    again = await send.options(connection=connection, unique_key="k").enqueue(8)
    assert again.id == handle.id
    assert await connection.fetchval("SHOW lock_timeout") == "0"
    await connection.close()


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_who_waits_for_a_key_learns_what_became_of_it(send: Send, url: str, end: str) -> None:
    """With a commit the run that took it is named; after a rollback the key is free."""
    async with with_asyncpg(url) as one:
        first = await send.options(connection=one.connection, unique_key="k").enqueue(1)
        waiting = asyncio.create_task(send.options(unique_key="k").enqueue(2))
        await until_somebody_waits(url)
        await getattr(one, end)()
        second = await waiting
    assert (second.id == first.id) == (end == "commit")
    assert await ids(url) == [second.id]


async def test_a_commit_notifies(send: Send, url: str) -> None:
    """The hint comes with the commit, names the queue, and is one for as many runs as there are."""
    heard: asyncio.Queue[object] = asyncio.Queue()
    listener = await asyncpg.connect(url)
    await listener.add_listener(CHANNEL, lambda *said: heard.put_nowait(said[-1]))
    async with with_asyncpg(url) as mine:
        await send.options(connection=mine.connection, queue="mail").enqueue(7)
        await send.options(connection=mine.connection, queue="mail").enqueue(8)
        await listener.fetchval("SELECT 1")
        assert heard.empty()
        await mine.commit()
    assert await heard.get() == f"{RUNS}mail"
    await listener.fetchval("SELECT 1")
    assert heard.empty()
    await listener.close()


async def test_bulk_writers_need_not_notify(url: str) -> None:
    """All commits that notify wait for one lock."""
    store = PostgresStore(Place(url=url), tx_hints=False)
    await store.open()
    steps = await store.join([new_run(1)])
    assert next(steps).parameters[-2] == "[]"
    steps.close()
    await store.close()


async def test_what_the_database_would_refuse_spares_the_transaction(app: App, url: str) -> None:
    """A bad value is found before the statement that would end the application's transaction."""
    with pytest.raises(StoreDataError, match="NUL"):
        await app.store.join([new_run(1, tags=("a",)), new_run(2, unique_key="\0")])
    steps = await app.store.join([new_run(1, args='"\ud800"')])
    with pytest.raises(StoreDataError, match="surrogates not allowed"):
        next(steps)


async def test_an_error_of_the_applications_own_stays_what_it_was(send: Send, url: str) -> None:
    """Its code knows the errors of its driver."""
    async with with_psycopg(url) as mine:
        with pytest.raises(psycopg.errors.DivisionByZero):
            await mine.execute("SELECT 1 / 0")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            await send.options(connection=mine.connection).enqueue(7)
        await mine.rollback()


async def test_a_table_that_is_held_is_the_applications_own_affair(
    send: Send, url: str, look: asyncpg.Connection[asyncpg.Record]
) -> None:
    """It said how long it waits for locks, and no unique key was in the way."""
    async with with_psycopg(url) as mine, look.transaction():
        await look.execute("LOCK TABLE puntual.runs IN ACCESS EXCLUSIVE MODE")
        await mine.execute("SET LOCAL lock_timeout = '20ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            await send.options(connection=mine.connection, queue="default").enqueue(7)
        await mine.rollback()


async def test_a_connection_without_an_encoding_is_read_all_the_same(send: Send, url: str) -> None:
    """Psycopg gives texts as bytes where client_encoding is SQL_ASCII."""
    async with with_psycopg(f"{url}?client_encoding=SQL_ASCII") as mine:
        handle = await send.options(connection=mine.connection, unique_key="ñ").enqueue(7)
        again = await send.options(connection=mine.connection, unique_key="ñ").enqueue(7)
        await mine.commit()
    assert again.id == handle.id
    assert await ids(url) == [handle.id]


async def test_a_right_that_lacks_is_said(send: Send, url: str) -> None:
    """The application's role is often not puntual's."""
    async with with_sqlalchemy(url) as mine:
        await mine.execute("CREATE ROLE stranger_to_puntual")
        await mine.execute("SET LOCAL ROLE stranger_to_puntual")
        with pytest.raises(StoreUnusableError, match="grant it USAGE on the schema puntual"):
            await send.options(connection=mine.connection).enqueue(7)
        await mine.rollback()


async def test_the_rights_that_are_documented_are_enough(send: Send, url: str) -> None:
    """The application's role needs nothing more, with a key that is free and with one that is held."""
    async with with_psycopg(url) as mine:
        await mine.execute("CREATE ROLE friend_of_puntual")
        await mine.execute("GRANT USAGE ON SCHEMA puntual TO friend_of_puntual")
        await mine.execute("GRANT SELECT, INSERT ON puntual.runs, puntual.lanes TO friend_of_puntual")
        await mine.execute("GRANT SELECT ON puntual.run_history TO friend_of_puntual")
        await mine.execute("SET LOCAL ROLE friend_of_puntual")
        made = [await send.options(connection=mine.connection, unique_key="k").enqueue(number) for number in (1, 2)]
        assert made[0].id == made[1].id
        await mine.rollback()


async def test_an_async_connection_is_awaited(send: Send, url: str) -> None:
    """A thread has no use for it."""
    connection = await asyncpg.connect(url)
    with pytest.raises(InvalidError, match=r"asyncpg.connection.Connection, which is for async code: await enqueue"):
        send.options(connection=connection).enqueue_sync(7)
    await connection.close()


async def test_what_is_no_connection_is_refused(send: Send, url: str) -> None:
    """By its name, with what would be right."""
    with pytest.raises(InvalidError, match=r"is a builtins.object; it must be a connection of asyncpg, psycopg 3"):
        await send.options(connection=object()).enqueue(7)
    async with asyncpg.create_pool(url, min_size=0) as pool:
        with pytest.raises(InvalidError, match=r"connection is a asyncpg.pool.Pool; it must be"):
            await send.options(connection=pool).enqueue(7)
    with sqlite3.connect(":memory:") as file, pytest.raises(InvalidError, match=r"connection is a sqlite3.Connection"):
        await send.options(connection=file).enqueue(7)
    file.close()


async def test_a_call_carries_no_connection(send: Send, url: str) -> None:
    """It is a value: whoever enqueues it says where."""
    async with with_asyncpg(url) as mine:
        with pytest.raises(InvalidError, match=r"give it to enqueue_many\(calls, connection=...\)"):
            send.options(connection=mine.connection).call(7)


async def test_a_file_cannot_be_joined(url: str, tmp_path: Path) -> None:
    """SQLite has one writer at a time."""
    app = App(Settings(database_url=f"sqlite:///{tmp_path}/jobs.db"))
    task = app.task(name="send")(_send)
    async with app, with_asyncpg(url) as mine:
        with pytest.raises(InvalidError, match=r"jobs.db is a SQLite file: leave it out, or set DATABASE_URL"):
            await task.options(connection=mine.connection).enqueue(7)


async def _row(url: str, id: str) -> asyncpg.Record:
    connection = await asyncpg.connect(url)
    try:
        row = await connection.fetchrow(
            "SELECT *, (SELECT count(*) FROM invoices) AS invoices FROM puntual.runs WHERE id = $1::text::uuid", id
        )
        assert row is not None
        return row
    finally:
        await connection.close()
