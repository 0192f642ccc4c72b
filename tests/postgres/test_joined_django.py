from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg
import django
import pytest
from django.conf import settings
from django.db import connections, transaction

from puntual import App
from puntual.model.errors import InvalidError, StoreBusyError
from puntual.settings import Settings
from puntual.store.postgres import enqueue as enqueue_module
from tests.support.databases import database
from tests.support.joins import with_asyncpg

T = TypeVar("T")
#: The alias of the test's database.
ORDERS = "orders"


@pytest.fixture(autouse=True)
async def _django(url: str) -> AsyncIterator[None]:
    """Django, with the test's database beside a file."""
    if not settings.configured:
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
        django.setup()
    known = connections.settings
    known[ORDERS] = connections.configure_settings({**known, ORDERS: _at(url)})[ORDERS]
    yield
    del known[ORDERS]


def _at(url: str) -> dict[str, Any]:
    host, _, name = url.rpartition("@")[2].partition("/")
    address, _, port = host.partition(":")
    return {"ENGINE": "django.db.backends.postgresql", "NAME": name, "HOST": address, "PORT": port, "USER": "postgres"}


@pytest.fixture
async def app(url: str) -> AsyncIterator[App]:
    """An open app on the test's database, with one task."""
    app = App(Settings(database_url=url))

    @app.task(name="send")
    def send(number: int) -> None: ...

    async with app:
        yield app


async def in_thread(work: Callable[[], T]) -> T:
    """What a view does, on a thread whose connections are closed in the end."""

    def whole() -> T:
        try:
            return work()
        finally:
            connections[ORDERS].close()

    return await asyncio.to_thread(whole)


async def ids(url: str) -> list[str]:
    """The runs that others see."""
    connection = await asyncpg.connect(url)
    try:
        return [row[0] for row in await connection.fetch("SELECT id::text FROM puntual.runs ORDER BY id")]
    finally:
        await connection.close()


async def test_a_run_is_part_of_an_atomic_block(app: App, url: str) -> None:
    """It is there when the block ends, and not before."""
    send = app.registry.get("send")

    def view() -> tuple[str, bool]:
        with transaction.atomic(using=ORDERS):
            handle = send.options(connection=ORDERS).enqueue_sync(7)
            before = asyncio.run(ids(url))
        return handle.id, bool(before)

    made, seen = await in_thread(view)
    assert (await ids(url), seen) == ([made], False)


async def test_a_block_that_fails_leaves_nothing(app: App, url: str) -> None:
    """The exception takes the run with it, and the inner block of two takes its own alone."""
    send = app.registry.get("send")

    def view() -> str:
        with suppress(LookupError), transaction.atomic(using=ORDERS):
            send.options(connection=ORDERS).enqueue_sync(1)
            raise LookupError
        with transaction.atomic(using=ORDERS):
            kept = send.options(connection=ORDERS).enqueue_sync(2)
            with suppress(LookupError), transaction.atomic(using=ORDERS):
                app.enqueue_many_sync([send.call(3)], connection=ORDERS)
                raise LookupError
        return kept.id

    kept = await in_thread(view)
    assert await ids(url) == [kept]


async def test_outside_a_block_it_is_committed_at_once(app: App, url: str) -> None:
    """Django's connections commit by themselves."""
    send = app.registry.get("send")

    def view() -> list[str]:
        return [send.options(connection=ORDERS, unique_key="k").enqueue_sync(number).id for number in (1, 2)]

    made = await in_thread(view)
    assert (len(set(made)), await ids(url)) == (1, made[:1])


async def test_a_key_of_an_open_transaction_is_named(app: App, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Django wraps the driver's errors; ours is said all the same."""
    monkeypatch.setattr(enqueue_module, "PATIENCE_MS", 50)
    send = app.registry.get("send")

    def view() -> None:
        with transaction.atomic(using=ORDERS):
            send.options(connection=ORDERS, unique_key="k").enqueue_sync(1)

    async with with_asyncpg(url) as other:
        await send.options(connection=other.connection, unique_key="k").enqueue(1)
        with pytest.raises(StoreBusyError, match="The unique key 'k' of the task send"):
            await in_thread(view)


async def test_async_code_is_told_to_use_the_other_method(app: App) -> None:
    """Django refuses its connections to code that runs in an event loop."""
    send = app.registry.get("send")
    with pytest.raises(InvalidError, match="call enqueue_sync, inside sync_to_async"):
        await send.options(connection=ORDERS).enqueue(7)


async def test_a_database_that_is_none_of_ours_is_refused(app: App) -> None:
    """Each in a sentence: another kind, an unknown alias, another PostgreSQL."""
    send = app.registry.get("send")
    with pytest.raises(InvalidError, match="connection is 'default', in Django a sqlite"):
        send.options(connection="default").enqueue_sync(7)
    with pytest.raises(InvalidError, match="connection is 'nowhere', and Django has no database of that name"):
        send.options(connection="nowhere").enqueue_sync(7)
    async with database(migrated=False) as elsewhere:
        connections.settings[ORDERS].update(_at(elsewhere))
        with pytest.raises(Exception, match="no tables of puntual"):
            await in_thread(lambda: send.options(connection=ORDERS).enqueue_sync(7))
