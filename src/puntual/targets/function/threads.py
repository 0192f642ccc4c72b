"""Threads for plain functions, which nothing can stop: a call that has begun is waited for, even when it was cancelled.

So whoever gives each call a slot gives a thread with it: the slot is free when the thread is. A pool of the standard
library would keep the interpreter from exiting until its last function came back; these threads are daemons.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from puntual.targets.refused import REFUSED

T = TypeVar("T")


class _Job(Generic[T]):
    """One call: who takes ``begun`` first decides whether a thread does it or its caller withdraws it.

    ``outcome`` is what came of it, an exception if it must end the program; ``told`` wakes the caller.
    """

    __slots__ = ("begun", "context", "loop", "outcome", "told", "work")

    def __init__(self, work: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.context = contextvars.copy_context()
        self.loop = loop
        self.begun = threading.Lock()
        self.outcome: T | BaseException | None = None
        self.told: asyncio.Future[None] = loop.create_future()


class Threads:
    """Up to ``max_threads`` named threads, made when they are first needed."""

    def __init__(self, max_threads: int, name: str = "puntual-function") -> None:
        self.max_threads: Final = max_threads
        self._name = name
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)
        self._overdue: set[_Job[Any]] = set()
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Does the work in a thread, with a copy of the caller's context variables.

        Cancelled before a thread has begun it, it never begins, and the cancellation passes at once. Cancelled later,
        it is waited for to its end, and its outcome given back: what was done is done. After ``close`` nothing is
        waited for.

        Raises:
            RuntimeError: the system has no thread to give; the work is not done.
        """
        job = _Job(work, asyncio.get_running_loop())
        if not self._idle.acquire(blocking=False) and len(self._threads) < self.max_threads:
            # Before anything is in line: whoever is told that there is no thread must not find the work done later.
            thread = threading.Thread(target=self._serve, name=f"{self._name}-{len(self._threads) + 1}", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                REFUSED.set()
                raise
            self._threads.append(thread)
        self._jobs.put(job)
        try:
            await job.told
        except asyncio.CancelledError:
            if job.begun.acquire(blocking=False):
                raise
            await self._outlast(job)
        return _result(job)

    def close(self) -> None:
        """Lets every thread end once it has nothing left to do; none is waited for, by cancelled calls neither."""
        self._closed = True
        for job in self._overdue:
            job.told.cancel()
        for _ in self._threads:
            self._jobs.put(None)
        self._threads.clear()

    async def _outlast(self, job: _Job[Any]) -> None:
        """Waits for a call that was cancelled after it had begun, however often it is cancelled again."""
        self._overdue.add(job)
        try:
            while job.outcome is None:
                if self._closed:
                    raise asyncio.CancelledError
                # The future before went with the cancellation.
                job.told = job.loop.create_future()
                with contextlib.suppress(asyncio.CancelledError):
                    await job.told
        finally:
            self._overdue.discard(job)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not job.begun.acquire(blocking=False):
                self._idle.release()
                continue
            _do(job)
            # Before the answer: who has it may come back at once with more, and must find this thread idle.
            self._idle.release()
            # A closed loop has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                job.loop.call_soon_threadsafe(_tell, job)
            del job


def _do(job: _Job[Any]) -> None:
    try:
        job.outcome = job.context.run(job.work)
    except BaseException as error:  # noqa: BLE001 - only what must end the program gets here: the caller shall raise it
        job.outcome = error


def _tell(job: _Job[Any]) -> None:
    if not job.told.done():
        job.told.set_result(None)


def _result(job: _Job[T]) -> T:
    if isinstance(job.outcome, BaseException):
        raise job.outcome
    assert job.outcome is not None
    return job.outcome
