"""Whatever is raised and however a store ends, whoever waits is answered, and no thread stays behind."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import threading
from collections.abc import AsyncIterator

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.errors import StoreUnavailableError
from puntual.store.requests import Page, RunFilter, Selection
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.checkpoint import Checkpointer
from puntual.store.sqlite.lanes import ThreadLane
from puntual.store.sqlite.session import Job, Session
from puntual.testing.conformance.build import add, new_run, uid
from tests.support.flaky import until
from tests.support.lanes import holding

EVERYTHING = Selection(everything=True)


class Stopped(StopIteration):
    """As an iterator of somebody's own may raise."""


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if "sqlite" in thread.name}


def _writer(store: SqliteStore) -> ThreadLane:
    assert isinstance(store._writer, ThreadLane)
    return store._writer


class TestOddErrors:
    """What no future can hold, or nobody should."""

    @pytest.mark.parametrize("error", [StopIteration(), Stopped(3)])
    async def test_one_that_a_future_cannot_hold_is_told_as_another(
        self, store: SqliteStore, error: StopIteration
    ) -> None:
        """Its caller hears of it, and those answered with it are answered."""

        def decide(*_: object) -> list[object]:
            raise error

        async with holding(store._writer):
            odd = asyncio.create_task(store.change_schedules(EVERYTHING, decide))  # type: ignore[arg-type]  # raises
            other = asyncio.create_task(add(store, new_run(1)))
            await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="Stop"):
            await odd
        assert await other == [uid(1)]

    @pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
    async def test_one_that_ends_programs_ends_no_store(self, store: SqliteStore, error: BaseException) -> None:
        """Raised on the store's thread it is no wish of the caller's: nobody is cancelled or exits by it."""

        def decide(*_: object) -> list[object]:
            raise error

        with pytest.raises(StoreUnavailableError, match=type(error).__name__):
            await store.change_schedules(EVERYTHING, decide)  # type: ignore[arg-type]  # raises
        assert await add(store, new_run(1)) == [uid(1)]

    async def test_an_answer_that_cannot_be_handed_over_holds_up_no_other(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each is handed over by itself."""
        resolve = Job.resolve
        failed: list[bool] = []

        def fail_once(job: Job[object]) -> None:
            if len(failed) < 2:
                failed.append(True)
                raise MemoryError
            resolve(job)

        async with asyncio.timeout(10):
            waiting = [asyncio.create_task(add(store, new_run(number))) for number in range(3)]
            monkeypatch.setattr(Job, "resolve", fail_once)
            answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert [isinstance(answer, RuntimeError) for answer in answers] == [True, True, False]


class TestCheckpoints:
    """Moving the log is nobody's business but the writer's."""

    async def test_answers_do_not_wait_for_it(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is committed is told first."""
        answered = threading.Event()
        told_first: list[bool] = []
        monkeypatch.setattr(Checkpointer, "committed", lambda *_: told_first.append(answered.wait(10)))
        await add(store, new_run(1))
        answered.set()
        await until(lambda: told_first)
        assert told_first == [True]

    async def test_a_system_without_locks_closes(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A refused lock leaves the log where it is; the last answer comes."""

        def refuse(*_: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        store = SqliteStore(path, clock=SystemClock())
        await store.open()
        monkeypatch.setattr(fcntl, "flock", refuse)
        await add(store, new_run(1))
        async with asyncio.timeout(10):
            await store.close()
        assert _threads() == set()


class TestClosing:
    """The end that somebody wished."""

    async def test_who_is_cancelled_meanwhile_leaves_nothing_behind(self, path: str) -> None:
        """The writer ends too, though nobody waits any more; who closes again waits for the same end."""
        store = SqliteStore(path, clock=SystemClock())
        await store.open()
        async with holding(store._reader):
            closing = asyncio.create_task(store.close())
            await asyncio.sleep(0)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
        await store.close()
        assert _threads() == set()

    def test_a_loop_that_ends_meanwhile_leaves_nothing_behind(self, path: str) -> None:
        """``asyncio.run`` cancels everything, the closing itself too."""

        async def main() -> None:
            store = SqliteStore(path, clock=SystemClock())
            await store.open()
            closing = asyncio.create_task(store.close())
            await asyncio.sleep(0)
            closing.cancel()

        asyncio.run(main())
        assert _threads() == set()

    async def test_one_that_fails_does_not_keep_the_other(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The error is told after both have ended."""
        store = SqliteStore(path, clock=SystemClock())
        await store.open()
        close = Session.close
        failed: list[bool] = []

        def fail_once(session: Session) -> None:
            close(session)
            if not failed:
                failed.append(True)
                raise StoreUnavailableError("The disk is gone.")

        monkeypatch.setattr(Session, "close", fail_once)
        with pytest.raises(StoreUnavailableError, match="gone"):
            await store.close()
        assert _threads() == set()

    async def test_who_comes_too_late_is_turned_away(self, path: str) -> None:
        """An operation put in line behind the end, by another thread for one, is answered."""
        store = SqliteStore(path, clock=SystemClock())
        await store.open()
        writer = _writer(store)
        late = Job(lambda _: None, None)
        late.future = asyncio.get_running_loop().create_future()
        async with holding(writer):
            closing = asyncio.create_task(writer.close())
            await asyncio.sleep(0)
            writer._line.put(late)
        with pytest.raises(StoreUnavailableError, match="closed"):
            await late.future
        await closing
        await store.close()


class TestDeadThread:
    """The end that nobody wished."""

    @pytest.fixture
    async def dead(self, path: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
        """A store whose writer's thread has ended by a defect."""

        def fail(_: object) -> None:
            raise MemoryError("no more")

        store = SqliteStore(path, clock=SystemClock())
        await store.open()
        monkeypatch.setattr(Session, "tidy", fail)
        await add(store, new_run(1))
        await asyncio.to_thread(_writer(store)._thread.join)
        monkeypatch.undo()
        yield store
        await store.close()
        assert _threads() == set()

    async def test_every_call_is_answered_with_an_error(self, dead: SqliteStore) -> None:
        """It says what ended the thread and what to do; what needs the reader only still works."""
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match=r"puntual-sqlite-writer has ended \(MemoryError.*open it"):
                await add(dead, new_run(2))
        assert [run.id for run in (await dead.list_runs(RunFilter(), Page())).items] == [uid(1)]

    async def test_it_can_be_closed_and_opened_again(self, dead: SqliteStore) -> None:
        """A new thread does the work."""
        await dead.close()
        await dead.open()
        assert await add(dead, new_run(2)) == [uid(2)]

    async def test_those_in_line_are_answered(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody waits for what nobody does."""

        def fail(_: object) -> None:
            raise MemoryError

        writer = _writer(store)
        async with asyncio.timeout(10):
            async with holding(writer):
                monkeypatch.setattr(Session, "tidy", fail)
                waiting = [asyncio.create_task(add(store, new_run(number))) for number in range(3)]
                await asyncio.sleep(0)
            answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(answer) for answer in answers] == [StoreUnavailableError] * 3
