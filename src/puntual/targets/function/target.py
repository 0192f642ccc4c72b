"""Executes one run of a registered function and says what came of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Sequence
from typing import Final, cast

from puntual.model.errors import PuntualError
from puntual.model.handle import CURRENT, Run
from puntual.model.outcome import Outcome
from puntual.model.payload import MAX_PAYLOAD
from puntual.model.run import Run as RunRow
from puntual.model.task import TaskRegistry
from puntual.targets.function import batch, capture
from puntual.targets.function.call import call, end_if_forked
from puntual.targets.function.processes import Processes
from puntual.targets.function.threads import Threads


class FunctionTarget:
    """The tasks of a registry.

    A plain function runs in a thread, which nothing can stop: past its deadline the call is waited for, for as long as
    it takes its thread. ``isolation="process"`` is for functions that must be stopped.

    Args:
        registry: the tasks.
        max_threads: how many plain functions run at once.
        process_workers: how many isolated ones.
        max_result: how long a result may be, in bytes of JSON; a longer one is kept as text.
    """

    def __init__(
        self, registry: TaskRegistry, *, max_threads: int = 32, process_workers: int = 2, max_result: int = MAX_PAYLOAD
    ) -> None:
        self._registry = registry
        self._threads: Final = Threads(max_threads)
        self._processes: Final = Processes(process_workers)
        self._max_result = max_result

    def tasks(self) -> tuple[str, ...]:
        """The names registered so far."""
        return self._registry.names()

    def batch_of(self, task: str) -> int:
        """The task's ``batch``; a task that is not registered fails run by run."""
        try:
            return self._registry.get(task).batch or 1
        except PuntualError:
            return 1

    async def execute_batch(self, runs: Sequence[RunRow]) -> Sequence[Outcome]:
        """Calls the function with the list of the runs; see the contract."""
        handles = [Run(row, collect=True) for row in runs]
        try:
            task = self._registry.get(runs[0].task)
            task.signature  # noqa: B018 - made at the first use, which may find that the function takes no list
        except PuntualError as error:
            return [capture.unfit(error)] * len(runs)
        process = os.getpid()
        try:
            if not task.is_async:
                return await self._threads.run(lambda: batch.call(task.function, handles, self._max_result))
            value = await cast("Awaitable[object]", task.function(handles))
            return batch.returned(value, handles, self._max_result)
        except BaseException as error:
            if _cancelled_by_us(error):
                raise
            return batch.raised(error, handles)
        finally:
            end_if_forked(process)

    async def execute(self, run: RunRow) -> Outcome:
        """Calls the function with the run's arguments; see the contract."""
        handle = Run(run, collect=True)
        try:
            task = self._registry.get(run.task)
            signature = task.signature
            args, kwargs = signature.read(run.args)
        except PuntualError as error:
            return capture.unfit(error)
        if task.batch is not None:
            return (await self.execute_batch((run,)))[0]
        if task.isolation is not None:
            return await self._processes.run(task, run, self._max_result)
        if signature.takes_run:
            args = (handle, *args)
        process = os.getpid()
        before = CURRENT.set(handle)
        try:
            if not task.is_async:
                return await self._threads.run(lambda: call(task.function, handle, (args, kwargs), self._max_result))
            value = await cast("Awaitable[object]", task.function(*args, **kwargs))
            return capture.returned(value, handle, self._max_result)
        except BaseException as error:
            if _cancelled_by_us(error):
                raise
            return capture.raised(error, handle)
        finally:
            CURRENT.reset(before)
            end_if_forked(process)

    async def close(self) -> None:
        """Lets idle threads and processes end."""
        self._threads.close()
        await self._processes.close()


def _cancelled_by_us(error: BaseException) -> bool:
    """Whether this call was cancelled; if not, the handler raised that, or awaited something that was cancelled."""
    ours = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and ours is not None and ours.cancelling() > 0
