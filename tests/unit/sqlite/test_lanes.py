"""Operations are answered after their commit, whoever waits for them, and the threads end with the store."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.errors import StoreUnavailableError
from puntual.store.requests import Page, Retention, RunFilter, Selection
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.connection import connect
from puntual.testing.conformance.build import NOW, new_run, uid


def _names() -> set[str]:
    return {thread.name for thread in threading.enumerate() if "sqlite" in thread.name}


class TestThreads:
    """Who does the work."""

    async def test_a_store_has_a_writer_and_a_reader(self, store: SqliteStore) -> None:
        """Both have names that say what they are."""
        assert _names() == {"puntual-sqlite-writer", "puntual-sqlite-reader"}

    @pytest.mark.parametrize("path_", [":memory:", "file"])
    async def test_inline_there_are_none(self, path: str, path_: str) -> None:
        """Everything happens on the caller's thread."""
        store = SqliteStore(
            path_ if path_ == ":memory:" else path, clock=SystemClock(), retention=Retention(), inline=True
        )
        await store.open()
        await store.enqueue([new_run(1)])
        assert _names() == set()
        await store.close()

    async def test_callbacks_run_on_the_writer(self, store: SqliteStore) -> None:
        """``decide`` is called inside the transaction."""
        seen: list[str] = []

        def decide(*_: object) -> list[object]:
            seen.append(threading.current_thread().name)
            return []

        await store.change_schedules(Selection(everything=True), decide)  # type: ignore[arg-type]  # writes nothing
        assert seen == ["puntual-sqlite-writer"]

    async def test_calls_from_several_loops_are_each_answered(self, store: SqliteStore) -> None:
        """An answer goes to the loop that asked."""

        def in_a_loop(number: int) -> str:
            return asyncio.run(_enqueue(store, number))

        with ThreadPoolExecutor(4) as pool:
            loop = asyncio.get_running_loop()
            ids = await asyncio.gather(*(loop.run_in_executor(pool, in_a_loop, number) for number in range(20)))
        assert ids == [uid(number) for number in range(20)]


class TestCancelling:
    """A caller that stops waiting."""

    async def test_an_operation_is_not_taken_back(self, store: SqliteStore, path: str) -> None:
        """What was put in line is done, though nobody waits for it."""
        with closing(connect(path, cache_kb=100)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(store.enqueue([new_run(1)]))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            other.execute("ROLLBACK")
        await store.enqueue([new_run(2)])
        assert {run.id for run in (await store.list_runs(RunFilter(), Page())).items} == {uid(1), uid(2)}

    async def test_the_other_callers_of_a_group_are_answered(self, store: SqliteStore, path: str) -> None:
        """One that is cancelled takes nobody with it."""
        with closing(connect(path, cache_kb=100)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = [asyncio.create_task(store.enqueue([new_run(number)])) for number in range(3)]
            await asyncio.sleep(0)
            waiting[1].cancel()
            other.execute("ROLLBACK")
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [False, True, False]

    async def test_a_loop_that_is_gone_harms_nobody(self, store: SqliteStore, path: str) -> None:
        """An answer for a closed loop is dropped, and the next operation works."""
        with closing(connect(path, cache_kb=100)) as other:
            other.execute("BEGIN IMMEDIATE")
            abandoned = asyncio.new_event_loop()
            with ThreadPoolExecutor(1) as pool:
                pool.submit(_abandon, abandoned, store).result()
            other.execute("ROLLBACK")
        await store.enqueue([new_run(2)])
        assert len((await store.list_runs(RunFilter(), Page())).items) == 2


class TestClosing:
    """The end."""

    async def test_what_is_in_line_is_done_first(self, path: str) -> None:
        """An operation that was accepted before the close is finished and answered."""
        store = SqliteStore(path, clock=SystemClock(), retention=Retention())
        await store.open()
        waiting = [asyncio.create_task(store.enqueue([new_run(number)])) for number in range(50)]
        await asyncio.sleep(0)
        await store.close()
        assert [answer[0].id for answer in await asyncio.gather(*waiting)] == [uid(number) for number in range(50)]
        assert _names() == set()

    @pytest.mark.parametrize("inline", [False, True])
    async def test_a_closed_store_says_so(self, path: str, *, inline: bool) -> None:
        """Before ``open`` and after ``close`` nothing can be done; it can be opened again."""
        store = SqliteStore(path, clock=SystemClock(), retention=Retention(), inline=inline)
        with pytest.raises(StoreUnavailableError, match="not open"):
            await store.enqueue([new_run(1)])
        for _ in range(2):
            await store.open()
            await store.enqueue([new_run(1)])
            await store.close()
            await store.close()
        with pytest.raises(StoreUnavailableError, match="not open"):
            await store.get_run(uid(1))


async def _enqueue(store: SqliteStore, number: int) -> str:
    return (await store.enqueue([new_run(number)], now=NOW))[0].id


def _abandon(loop: asyncio.AbstractEventLoop, store: SqliteStore) -> None:
    """Puts an operation in line and closes the loop that would hear the answer."""
    task = loop.create_task(store.enqueue([new_run(1)]))
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
