"""Where operations stand in line: a thread of its own for each connection, or, inline, the caller's."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
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
        return job.answer()

    async def call_joint(self, joint: JointWork[A, R], item: A, *, size: int, now: int | None = None) -> R:
        """As ``Lane.call_joint``; nothing else waits here."""
        return self.call_now(JointJob(joint, item, size, now).work, now=now)

    async def close(self) -> None:
        """As ``Lane.close``."""
        self._session.close()


class ThreadLane:
    """A thread that does what is in line, as much as its session takes at once, and answers after the commit."""

    def __init__(self, name: str, session: Session, do: Callable[[Sequence[AnyJob]], int]) -> None:
        self._session = session
        self._do = do
        self._line: queue.SimpleQueue[AnyJob | None] = queue.SimpleQueue()
        self._last: Job[None] | None = None
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
        if self._last is None:
            self._last = Job(lambda _: None, None)
            self._last.future = asyncio.get_running_loop().create_future()
            self._line.put(None)
            await self._last.future
            self._thread.join()

    async def _put(self, job: Job[R]) -> R:
        if self._last is not None:
            raise StoreUnavailableError("The store is closed: open it before it is used.")
        job.future = asyncio.get_running_loop().create_future()
        self._line.put(job)
        return await job.future

    def _work(self) -> None:
        waiting: list[AnyJob] = []
        going_on = True
        while going_on or waiting:
            going_on = self._fetch(waiting) and going_on
            if waiting:
                started = time.monotonic()
                done = self._one_round(waiting)
                _answer(waiting[:done])
                del waiting[:done]
                held = time.monotonic() - started
                if held > _LONG:
                    pause(min(max(held / 20, _SHORTEST_PAUSE), _LONGEST_PAUSE))
        self._session.close()
        assert self._last is not None
        _answer([self._last])

    def _one_round(self, waiting: Sequence[AnyJob]) -> int:
        try:
            return self._do(waiting)
        except BaseException as error:  # noqa: BLE001 - this thread outlives whatever an operation raises
            for job in waiting:
                job.error = error
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
        job.resolve()
