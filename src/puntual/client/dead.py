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

        Each at most once, newest first: one that dies again meanwhile is not put back again.

        Returns:
            For each id ``replayed``, ``missing``, ``not_dead`` or ``held_by:<id>``.
        """
        answers: dict[str, str] = {}
        for part in _parts(where):
            after: str | None = None
            while True:
                chunk = await self._core.store.replay(part, limit=_CHUNK, after=after)
                answers |= chunk
                self._core.wake.hint(["*"] if "replayed" in chunk.values() else [])
                if part.ids or not chunk:
                    break
                after = min(chunk)
        return answers

    async def replay_edited(self, run_id: str, args: str, *, new_id: str | None = None) -> str:
        """A new run with other arguments (JSON text), ``replay_of`` the old one; returns its id.

        Raises:
            ConflictError: the run is still live, or another live run holds its unique key.
        """
        old = await self._runs.row(run_id)
        if old.finished_at is None:
            raise ConflictError(f"Run {run_id} is {old.state}: cancel it or wait for its end before running it again.")
        new = NewRun(
            id=new_id or self._core.new_run_id(),
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
            unique_key=old.unique_key,
            tags=old.tags,
        )
        (answer,) = await self._runs.enqueue([new], repeat=new_id is not None)
        if answer.id != new.id:
            raise ConflictError(
                f"Run {old.id} was not run again: its unique key is held by the live run {answer.id}.",
                field="unique_key",
            )
        return new.id

    async def discard(self, where: RunFilter) -> list[str]:
        """Takes the dead runs that fit out of the list; they stay in history."""
        ids: list[str] = []
        for part in _parts(where):
            after: str | None = None
            while True:
                chunk = await self._core.store.discard(part, limit=_CHUNK, after=after)
                ids += chunk
                if not chunk:
                    break
                after = min(chunk)
        return ids

    find_sync = blocking(find)
    replay_sync = blocking(replay)
    replay_edited_sync = blocking(replay_edited)
    discard_sync = blocking(discard)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self._core.block(work)


def _parts(where: RunFilter) -> list[RunFilter]:
    """The filter, or several that name no more ids than one transaction takes."""
    ids = tuple(dict.fromkeys(where.ids))
    if not ids:
        return [_dead(where)]
    return [
        msgspec.structs.replace(_dead(where), ids=ids[start : start + _CHUNK]) for start in range(0, len(ids), _CHUNK)
    ]


def _dead(where: RunFilter | None) -> RunFilter:
    return msgspec.structs.replace(where or RunFilter(), states=(RunState.DEAD,))
