"""Where operations stand in line: a thread of its own for each connection, or, inline, the caller's."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from puntual.model.errors import StoreUnavailableError
from puntual.store.sqlite.connection import pause
from puntual.store.sqlite.session import AnyJob, Job, JointJob, JointWork, Session, Work

R = TypeVar("R")
A = TypeVar("A")
#: A transaction longer than this, seconds, is followed by a pause of a twentieth of it, in which another process takes
#: its turn: a heartbeat beside a bulk writer then waits for one transaction, not for several.
_LONG = 0.02
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.002, 0.02
_MOST = 1_000


class Lane(Protocol):
    """What does one operation after another."""

    async def call(self, work: Work[R], *, now: int | None = None) -> R:
        """Does an operation in a transaction; cancelling the caller does not take it back."""
        ...

    async def call_joint(self, joint: JointWork[A, R], item: A, *, size: int, now: int | None = None) -> R:
        """Does an operation of that size, in one statement with others of its kind that wait."""
        ...

    async def close(self) -> None:
        """Does what is in line, then closes the connection."""
        ...


class InlineLane:
    """Each operation at once, on the thread that asks for it."""

    def __init__(self, session: Session, do: Callable[[Sequence[AnyJob]], int], lock: threading.RLock) -> None:
        self._session = session
        self._do = do
        self._lock = lock

    async def call(self, work: Work[R], *, now: int | None = None) -> R:
        """As ``Lane.call``."""
        return self.call_now(work, now=now)

    def call_now(self, work: Work[R], *, now: int | None = None) -> R:
        """As ``call``, for a caller that is no coroutine."""
        job = Job(work, now)
        with self._lock:
            self._do([job])
            self._session.tidy()
        return job.answer()

    async def call_joint(self, joint: JointWork[A, R], item: A, *, size: int, now: int | None = None) -> R:
        """As ``Lane.call_joint``; nothing else waits here."""
        return self.call_now(JointJob(joint, item, size, now).work, now=now)

    async def close(self) -> None:
        """As ``Lane.close``."""
        self._session.close()


class ThreadLane:
    """A thread that does what is in line, as much as its session takes at once, and answers after the commit.

    Whoever comes after the thread has ended, or stands in line when it does, is answered with an error: nobody waits
    for what nobody does.
    """

    def __init__(self, name: str, session: Session, do: Callable[[Sequence[AnyJob]], int]) -> None:
        self._session = session
        self._do = do
        self._line: queue.SimpleQueue[AnyJob | None] = queue.SimpleQueue()
        self._closed = False
        self._ended = False
        self._cause: BaseException | None = None
        self._end: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._end.set_running_or_notify_cancel()  # Who is cancelled while he waits for the end does not take it back.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def call(self, work: Work[R], *, now: int | None = None) -> R:
        """As ``Lane.call``."""
        return await self._put(Job(work, now))

    async def call_joint(self, joint: JointWork[A, R], item: A, *, size: int, now: int | None = None) -> R:
        """As ``Lane.call_joint``."""
        return await self._put(JointJob(joint, item, size, now))

    async def close(self) -> None:
        """As ``Lane.close``."""
        self._closed = True
        self._line.put(None)
        if self._thread.is_alive():
            await asyncio.wrap_future(self._end)
            self._thread.join()

    async def _put(self, job: Job[R]) -> R:
        # After a fork the thread is there in the parent only.
        if self._closed or not self._thread.is_alive():
            raise self._over()
        job.future = asyncio.get_running_loop().create_future()
        self._line.put(job)
        if self._ended:
            self._turn_away()
        return await job.future

    def _over(self) -> StoreUnavailableError:
        if self._closed:
            return StoreUnavailableError("The store is closed: open it before it is used.")
        name = self._thread.name
        return StoreUnavailableError(
            f"The thread {name} has ended ({self._cause!r}): close the store and open it again."
        )

    def _work(self) -> None:
        waiting: list[AnyJob] = []
        try:
            self._serve(waiting)
        except BaseException as error:  # noqa: BLE001 - it is told to everybody who comes
            self._cause = error
        self._finish(waiting)

    def _turn_away(self, waiting: Sequence[AnyJob] = ()) -> None:
        """Answers those who wait, and all who stand in line, that nothing will be done."""
        left = list(waiting)
        with suppress(queue.Empty):
            while True:
                job = self._line.get_nowait()
                left += [] if job is None else [job]
        for job in left:
            job.error = self._over()
        _answer(left)

    def _finish(self, waiting: Sequence[AnyJob]) -> None:
        """Answers everybody who still waits, and closes the connection."""
        self._ended = True  # First: who comes into line after this sees it, and who came before is found there.
        self._turn_away(waiting)
        try:
            self._session.close()
        except BaseException as error:  # noqa: BLE001 - whoever closes the store is told
            self._end.set_exception(error)
        else:
            self._end.set_result(None)

    def _serve(self, waiting: list[AnyJob]) -> None:
        going_on = True
        while going_on or waiting:
            going_on = self._fetch(waiting) and going_on
            if waiting:
                started = time.monotonic()
                done = self._one_round(waiting)
                _answer(waiting[:done])
                del waiting[:done]
                self._session.tidy()
                held = time.monotonic() - started
                if held > _LONG:
                    pause(min(max(held / 20, _SHORTEST_PAUSE), _LONGEST_PAUSE))

    def _one_round(self, waiting: Sequence[AnyJob]) -> int:
        try:
            return self._do(waiting)
        except BaseException as error:  # noqa: BLE001 - this thread outlives whatever an operation raises
            for job in waiting:
                job.error = StoreUnavailableError(f"Nothing was done, as the transaction was stopped by {error!r}.")
            return len(waiting)

    def _fetch(self, waiting: list[AnyJob]) -> bool:
        """Takes all that is in line, waiting for something to do; False when the line is closed."""
        try:
            while len(waiting) < _MOST:
                job = self._line.get(block=not waiting)
                if job is None:
                    return False
                waiting.append(job)
        except queue.Empty:
            pass
        return True


def _answer(jobs: Sequence[AnyJob]) -> None:
    """One message to each loop, with all that it waits for."""
    loops: dict[asyncio.AbstractEventLoop, list[AnyJob]] = {}
    for job in jobs:
        if job.future is not None:
            loops.setdefault(job.future.get_loop(), []).append(job)
    for loop, mine in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, mine)
        except RuntimeError:
            continue  # The loop is closed: nobody is left to be told.


def _resolve(jobs: Sequence[AnyJob]) -> None:
    for job in jobs:
        try:
            job.resolve()
        except Exception:  # noqa: BLE001 - those after it are answered, whatever becomes of one
            job.give_up()
