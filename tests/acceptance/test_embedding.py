"""An app inside another program: in its event loop, or in a background thread for code that is not async."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import puntual
from puntual.model.errors import ConflictError, RunDeadError, WaitTimeoutError
from puntual.settings import Settings


@pytest.fixture
def app(tmp_path: Path) -> puntual.App:
    """An app on a file of its own."""
    return puntual.App(Settings(database_url=f"sqlite:///{tmp_path}/jobs.db", concurrency=10))


async def test_the_whole_product_runs_inside_another_program(app: puntual.App) -> None:
    """Tasks are enqueued, executed, and waited for, beside whatever else the loop does."""

    @app.task
    async def double(number: int) -> int:
        return 2 * number

    async with app.running():
        run = await double.enqueue(number=21)
        assert await run.result(timeout="20s") == 42


async def test_a_schedule_declared_in_code_fires(app: puntual.App) -> None:
    """It is written when the app starts, with its task's own options, and owned by the module."""
    fired = asyncio.Event()

    @app.schedule("every 1s", name="beat")
    @app.task(queue="fast", max_attempts=2)
    async def beat() -> None:
        fired.set()

    async with app.running():
        await fired.wait()
        schedule = await app.schedules.get("beat")
    assert schedule.spec.owner == f"app:{__name__}"
    assert (schedule.spec.queue, schedule.spec.retry.max_attempts) == ("fast", 2)


async def test_declaring_again_changes_nothing(app: puntual.App) -> None:
    """A restart is no edit."""

    @app.schedule("every 1h", name="hourly")
    @app.task
    async def hourly() -> None: ...

    for _ in range(2):
        async with app.running(roles=["scheduler"]):
            assert (await app.schedules.get("hourly")).revision == 1


async def test_waiting_for_a_run_that_dies_raises(app: puntual.App) -> None:
    """With the last error; and a wait that is too short leaves the run alone."""

    @app.task(max_attempts=1)
    async def fail() -> None:
        raise LookupError("no such invoice")

    async with app:
        run = await fail.enqueue()
        with pytest.raises(WaitTimeoutError):
            await run.result(timeout="10ms")
        async with app.running():
            with pytest.raises(RunDeadError, match="LookupError: no such invoice"):
                await run.result(timeout="20s")


async def test_plain_functions_do_not_hold_up_the_loop(app: puntual.App) -> None:
    """They run in threads, as many as the concurrency at once."""
    together = threading.Barrier(5, timeout=20)

    @app.task
    def meet() -> int:
        return together.wait()

    async with app.running():
        runs = [await meet.enqueue() for _ in range(5)]
        places = [await run.result(timeout="20s") for run in runs]
    assert sorted(places) == list(range(5))


def test_a_script_enqueues_without_running_anything(app: puntual.App) -> None:
    """``with app:`` is a client and nothing more."""

    @app.task
    def later() -> None: ...

    with app:
        run = later.enqueue_sync()
        assert app.runs.get_sync(run.id).state == "pending"


def test_a_plain_task_may_enqueue_another(app: puntual.App) -> None:
    """From its thread, while the app's loop runs elsewhere."""

    @app.task
    def second() -> int:
        return 2

    @app.task
    def first() -> int:
        return second.enqueue_sync().result_sync(timeout="20s")

    async def main() -> int:
        async with app.running():
            return await (await first.enqueue()).result(timeout="20s")

    assert asyncio.run(main()) == 2


def test_code_that_is_not_async_has_the_same_methods(app: puntual.App) -> None:
    """Inside ``running_sync`` the twins wait; outside they say what is missing."""

    @app.task
    def shout(text: str) -> str:
        return text.upper()

    with pytest.raises(ConflictError):
        shout.enqueue_sync("early")
    with app.running_sync():
        run = shout.enqueue_sync("hello")
        assert run.result_sync(timeout="20s") == "HELLO"
        assert app.runs.get_sync(run.id).args == {"text": "hello"}
        app.enqueue_many_sync([shout.call("a"), shout.call("b")])


def test_a_twin_on_the_apps_own_loop_is_refused(app: puntual.App) -> None:
    """Waiting there would never end."""

    @app.task
    async def nothing() -> None: ...

    @app.task(max_attempts=1)
    async def careless() -> str:
        with pytest.raises(ConflictError, match="without _sync"):
            nothing.enqueue_sync()
        return "refused"

    with app.running_sync():
        assert careless.enqueue_sync().result_sync(timeout="20s") == "refused"


async def test_many_calls_are_enqueued_in_order(app: puntual.App) -> None:
    """A bulk gives an id for each call, and each call once."""
    seen: list[int] = []

    @app.task
    async def note(number: int) -> None:
        seen.append(number)

    async with app.running():
        ids = await app.enqueue_many([note.call(number) for number in range(500)])
        for run_id in ids:
            await app.runs.finished(run_id, timeout="20s")
    assert (len(set(ids)), sorted(seen)) == (500, list(range(500)))
