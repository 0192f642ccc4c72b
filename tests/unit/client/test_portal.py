"""The _sync methods work from every thread but that of the loop on which the app is open."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import puntual
from puntual.model.errors import ConflictError
from puntual.settings import Settings


@pytest.fixture
def app(tmp_path: Path) -> puntual.App:
    """An app on a file of its own."""
    return puntual.App(Settings(database_url=f"sqlite:///{tmp_path}/jobs.db", concurrency=4))


async def test_a_plain_function_may_use_them_while_the_app_runs(app: puntual.App) -> None:
    """It runs in a thread, whatever loop the app runs in."""

    @app.task
    async def inner(number: int) -> int:
        return number + 1

    @app.task
    def outer() -> str:
        return inner.enqueue_sync(41).id

    async with app.running():
        made = await (await outer.enqueue()).result(timeout="20s")
        assert isinstance(made, str)
        assert (await app.runs.finished(made, timeout="20s")).result == "42"


def test_a_plain_function_may_use_them_while_the_app_runs_in_the_background(app: puntual.App) -> None:
    """The same loop serves it and whoever runs the app."""

    @app.task
    async def inner() -> str:
        return "inner"

    @app.task
    def outer() -> object:
        return inner.enqueue_sync().result_sync(timeout="20s")

    with app.running_sync():
        assert outer.enqueue_sync().result_sync(timeout="20s") == "inner"


async def test_they_work_until_the_last_of_several_entries_is_left(app: puntual.App) -> None:
    """And not afterwards."""

    @app.task
    async def nothing() -> None: ...

    async with app:
        async with app, app.running(roles=["scheduler"]):
            await asyncio.to_thread(nothing.enqueue_sync)
        await asyncio.to_thread(nothing.enqueue_sync)
    with pytest.raises(ConflictError):
        await asyncio.to_thread(app.enqueue_many_sync, [])


async def test_on_the_apps_own_loop_they_say_to_await(app: puntual.App) -> None:
    """Waiting there would never end."""
    async with app:
        with pytest.raises(ConflictError, match="without _sync"):
            app.runs.find_sync()


def test_an_app_may_be_opened_again_in_another_loop(app: puntual.App) -> None:
    """Each loop in its turn."""

    async def once() -> None:
        async with app:
            await asyncio.to_thread(app.runs.find_sync)

    asyncio.run(once())
    asyncio.run(once())
    with app.running_sync(roles=["scheduler"]):
        assert app.runs.find_sync() == []


async def test_an_app_that_is_open_cannot_be_run_in_the_background_too(app: puntual.App) -> None:
    """Its connection belongs to one loop."""

    def enter() -> None:
        with app.running_sync():
            pass

    async with app:
        with pytest.raises(ConflictError, match="open already"):
            await asyncio.to_thread(enter)


async def test_who_still_waits_when_the_app_closes_is_told(app: puntual.App) -> None:
    """Nobody would answer any more."""

    @app.task
    async def nothing() -> None: ...

    failures: list[BaseException] = []
    looked = _called(app, "get_run")

    def wait(look: Callable[[], object]) -> None:
        try:
            look()
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    async with app:
        run = await nothing.enqueue()
        thread = threading.Thread(target=wait, args=(run.result_sync,))
        thread.start()
        await looked.wait()
    await asyncio.to_thread(thread.join, 20)
    assert [type(error) for error in failures] == [ConflictError]


def _called(app: puntual.App, name: str) -> asyncio.Event:
    """Set once that operation of the app's store was asked for."""
    called = asyncio.Event()
    operation = getattr(app.store, name)

    def tell(*args: object, **kwargs: object) -> object:
        called.set()
        return operation(*args, **kwargs)

    setattr(app.store, name, tell)
    return called
