"""The dead-letter list: look, put back, or set aside."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from puntual.client.core import Core
from puntual.client.runs import Runs
from puntual.model.blocking import blocking
from puntual.model.errors import ConflictError
from puntual.model.handle import Run
from puntual.model.payload import check_text
from puntual.model.run import NewRun, Origin, RunState
from puntual.store.requests import Page, RunFilter

_CHUNK = 1_000

T = TypeVar("T")


class DeadLetters:
    """``app.dead``: runs whose attempts are spent."""

    def __init__(self, core: Core, runs: Runs) -> None:
        self._core = core
        self._runs = runs

    async def find(self, where: RunFilter | None = None, page: Page | None = None) -> list[Run]:
        """Dead runs that nobody has discarded, newest first."""
        return await self._runs.find(_dead(where), page)

    async def replay(self, where: RunFilter) -> dict[str, str]:
        """Puts the dead runs that fit back, unchanged: same ids, attempts numbered on, a fresh budget.

        Returns:
            For each id ``replayed``, ``missing``, ``not_dead`` or ``held_by:<id>``.
        """
        answers: dict[str, str] = {}
        while True:
            chunk = await self._core.store.replay(_dead(where), limit=_CHUNK)
            fresh = {run_id: answer for run_id, answer in chunk.items() if run_id not in answers}
            answers |= fresh
            if where.ids or len(chunk) < _CHUNK or not fresh:
                break
        self._core.wake.hint(["*"] if answers else [])
        return answers

    async def replay_edited(self, run_id: str, args: str) -> str:
        """A new run with other arguments (JSON text), ``replay_of`` the old one; returns its id.

        Raises:
            ConflictError: the run is still live.
        """
        old = await self._runs.row(run_id)
        if old.finished_at is None:
            raise ConflictError(f"Run {run_id} is {old.state}: cancel it or wait for its end before running it again.")
        new = NewRun(
            id=self._core.new_run_id(),
            task=old.task,
            args=check_text(args, field="args"),
            queue=old.queue,
            priority=old.priority,
            origin=Origin.REPLAY,
            replay_of=old.id,
            schedule_id=old.schedule_id,
            schedule=old.schedule,
            max_attempts=old.policy.retry.max_attempts,
            policy=old.policy,
            tags=old.tags,
        )
        (answer,) = await self._runs.enqueue([new])
        return answer.id

    async def discard(self, where: RunFilter) -> list[str]:
        """Takes the dead runs that fit out of the list; they stay in history."""
        ids: list[str] = []
        while True:
            chunk = await self._core.store.discard(_dead(where), limit=_CHUNK)
            ids += chunk
            if len(chunk) < _CHUNK:
                return ids

    find_sync = blocking(find)
    replay_sync = blocking(replay)
    replay_edited_sync = blocking(replay_edited)
    discard_sync = blocking(discard)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self._core.block(work)


def _dead(where: RunFilter | None) -> RunFilter:
    return msgspec.structs.replace(where or RunFilter(), states=(RunState.DEAD,))
