"""Runs as a client sees them: asked for, looked up, waited for, steered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from puntual.client.core import Core
from puntual.client.joined import Joined
from puntual.model.blocking import blocking
from puntual.model.call import Call
from puntual.model.duration import parse_duration
from puntual.model.errors import NotFoundError, RunDeadError, WaitTimeoutError
from puntual.model.handle import Run
from puntual.model.ids import check_run_id
from puntual.model.run import LIVE_STATES, NewRun, RunState
from puntual.model.run import Run as RunRow
from puntual.store.requests import Enqueued, Page, RunEdit, RunFilter

#: One transaction takes this many: large enough to be fast, small enough to let others in between.
_CHUNK = 10_000
_FIRST_LOOK = 0.005
_LAST_LOOK = 0.25

T = TypeVar("T")


class Runs:
    """``app.runs``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, run_id: str) -> Run:
        """The run, live or in history.

        Raises:
            NotFoundError: there is none.
        """
        return Run(await self.row(run_id))

    async def find(self, where: RunFilter | None = None, page: Page | None = None) -> list[Run]:
        """Runs, newest first."""
        asked, found = page or Page(), list[Run]()
        while True:
            part = await self._core.store.list_runs(where or RunFilter(), asked)
            found += [Run(row) for row in part.items]
            if part.next is None or len(part.items) == asked.limit:
                return found
            asked = Page(limit=asked.limit - len(part.items), after=part.next)

    async def cancel(self, *run_ids: str) -> dict[str, str]:
        """Ends pending runs and asks running ones to stop; says for each what came of it."""
        ids = [check_run_id(run_id) for run_id in run_ids]
        answers = await self._core.store.cancel(ids)
        self._core.wake.hint_cancels()
        self._core.wake.hint_planner()
        return answers

    async def edit(self, where: RunFilter, edit: RunEdit) -> list[str]:
        """Changes pending runs; returns their ids."""
        ids = await self._core.store.edit_runs(where, edit)
        self._core.wake.hint(["*"] if ids else [])
        return ids

    async def row(self, run_id: str) -> RunRow:
        """The row as the store keeps it.

        Raises:
            NotFoundError: there is none.
        """
        row = await self._core.store.get_run(check_run_id(run_id))
        if row is None:
            raise NotFoundError(f"There is no run {run_id}; its history may have expired.", field="id")
        return row

    async def enqueue(self, runs: Sequence[NewRun], *, repeat: bool = False) -> list[Enqueued]:
        """Inserts runs, in chunks of 10,000 that are each all or nothing; a repeat with the same ids does nothing.

        Args:
            runs: what to insert.
            repeat: this may be a repeat so late that a run is over by now: look for the ids in history too.
        """
        answers: list[Enqueued] = []
        for start in range(0, len(runs), _CHUNK):
            chunk = runs[start : start + _CHUNK]
            answers += await self._core.store.enqueue(chunk, repeat=repeat)
            self._core.wake.hint({run.queue for run in chunk})
        return answers

    async def enqueue_calls(self, calls: Sequence[Call]) -> list[str]:
        """Inserts a run for each call and gives the id of the run that stands for it."""
        core = self._core
        if len(calls) == 1:
            new = calls[0].new_run(core.new_run_id())
            (answer,) = await core.store.enqueue([new])
            core.wake.hint((new.queue,))
            return [answer.id]
        fresh = core.new_run_ids(len(calls))
        return [
            answer.id
            for answer in await self.enqueue([call.new_run(id) for call, id in zip(calls, fresh, strict=True)])
        ]

    def joined(self, connection: object) -> Joined:
        """What enqueues in the transaction of a connection of the application's.

        Raises:
            InvalidError: the connection is nothing that can be used.
        """
        return Joined(self._core, connection)

    async def finished(self, run_id: str, *, timeout: str | None = None) -> RunRow:
        """Waits until the run has succeeded.

        Raises:
            RunDeadError: it ended without success.
            WaitTimeoutError: it did not end in time.
        """
        limit = None if timeout is None else parse_duration(timeout, field="timeout") / 1_000_000
        try:
            async with asyncio.timeout(limit):
                row = await self._ended(run_id)
        except TimeoutError:
            raise WaitTimeoutError(f"Run {run_id} did not end within {timeout}; it goes on.", field="timeout") from None
        if row.state is not RunState.SUCCEEDED:
            last = next((attempt.error for attempt in reversed(row.attempts) if attempt.error), None)
            why = "" if last is None else f": {last.type}: {last.message}"
            raise RunDeadError(f"Run {run_id} ended as {row.state} after {row.attempt} attempts{why}")
        return row

    get_sync = blocking(get)
    find_sync = blocking(find)
    cancel_sync = blocking(cancel)
    edit_sync = blocking(edit)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self._core.block(work)

    async def _ended(self, run_id: str) -> RunRow:
        look = _FIRST_LOOK
        while True:
            row = await self.row(run_id)
            if row.state not in LIVE_STATES:
                return row
            await asyncio.sleep(look)
            look = min(look * 1.5, _LAST_LOOK)
