"""Threads for plain functions: one that overruns its deadline is abandoned, for nothing can stop it.

A pool of the standard library would keep the interpreter from exiting until its last function came back; these threads
are daemons. An abandoned function keeps its thread, so that at most ``max_threads`` ever run: while all of them are
taken so, new runs wait for theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Final, NamedTuple

from puntual.model.outcome import Outcome


class _Job(NamedTuple):
    work: Callable[[], Outcome]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Outcome]


class Threads:
    """Up to ``max_threads`` named threads, made when they are first needed."""

    def __init__(self, max_threads: int, name: str = "puntual-function") -> None:
        self.max_threads: Final = max_threads
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)

    async def run(self, work: Callable[[], Outcome]) -> Outcome:
        """Does the work in a thread, with a copy of the caller's context variables.

        A cancelled call returns at once; work that a thread has begun goes on there, and its outcome is dropped.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Outcome] = loop.create_future()
        self._jobs.put(_Job(work, contextvars.copy_context(), loop, answer))
        if not self._idle.acquire(blocking=False) and len(self._threads) < self.max_threads:
            thread = threading.Thread(target=self._serve, name=f"{self._name}-{len(self._threads) + 1}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return await answer

    def close(self) -> None:
        """Lets every thread end once it has nothing left to do; none is waited for."""
        for _ in self._threads:
            self._jobs.put(None)
        self._threads.clear()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.answer.cancelled():
                self._idle.release()
                continue
            outcome, error = _do(job)
            # Before the answer: who has it may come back at once with more, and must find this thread idle.
            self._idle.release()
            # A closed loop has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                job.loop.call_soon_threadsafe(_settle, job.answer, outcome, error)
            del job, outcome, error


def _do(job: _Job) -> tuple[Outcome | None, BaseException | None]:
    try:
        return job.context.run(job.work), None
    except BaseException as error:  # noqa: BLE001 - only what must end the program gets here: the loop shall raise it
        return None, error


def _settle(answer: asyncio.Future[Outcome], outcome: Outcome | None, error: BaseException | None) -> None:
    if answer.done():
        return
    if outcome is not None:
        answer.set_result(outcome)
    elif error is not None:
        answer.set_exception(error)
