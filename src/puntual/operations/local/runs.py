"""Runs and dead letters on the database of an app."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from puntual.model.errors import ConflictError, InvalidError, NotFoundError, PuntualError
from puntual.model.ids import check_run_id
from puntual.model.instant import parse_instant
from puntual.model.names import check_queue
from puntual.model.run import LIVE_STATES, NewRun, Origin, Priority, Run, RunState
from puntual.operations import filters
from puntual.operations.bodies import EditBody, EnqueueBody, ReplayBody, read_body
from puntual.operations.contract import Filter, Json
from puntual.operations.local.base import Local, all_runs
from puntual.operations.local.enqueue import by_place, check_args, new_run, refuse_another
from puntual.operations.local.warnings import OWN_OPTIONS
from puntual.operations.shapes import fresh_shape, response_shape, run_shape
from puntual.store.requests import Page, RunEdit, RunFilter

#: One transaction, so that a batch is all or nothing.
LARGEST_BATCH: Final = 10_000
#: How many bodies are read before others get their turn: 5 ms at 50 microseconds each.
_SLICE: Final = 100
#: A page of runs ends after this many letters of arguments, results and errors; it is read in parts of so many runs.
_LARGEST_REPLY: Final = 4 << 20
_READ: Final = 100
#: How many parts one request reads at most; of a list in which nothing fits that is a tenth of a second.
_PARTS: Final = 12


class LocalRuns(Local):
    """``RunOperations``."""

    async def list_runs(self, where: Filter) -> Json:
        """Runs, newest first."""
        return await self._list(filters.run_filter(where, self._moment), filters.page(where))

    async def get_run(self, run_id: str) -> Json:
        """One run with its attempts."""
        return {**run_shape(await self._app.runs.row(run_id))}

    async def get_response(self, run_id: str, attempt: int) -> Json:
        """The kept answer or output of an attempt."""
        response = await self._app.store.get_response(check_run_id(run_id), attempt)
        if response is None:
            raise NotFoundError(f"Nothing is kept of attempt {attempt} of run {run_id}.", field="attempt")
        return response_shape(response)

    async def enqueue(self, body: Json) -> Json:
        """One run, by an event."""
        asked = read_body(body, EnqueueBody)
        new = new_run(self._app, asked, self._app.core.new_run_id())
        (answer,) = await self._app.runs.enqueue([new], repeat=asked.id is not None)
        if not answer.existing:
            return {**fresh_shape(new, answer.now), "warnings": await self._said([body])}
        row = await self._app.runs.row(answer.id)
        if answer.id == new.id:
            refuse_another(row, new)
        return {**run_shape(row), "existing": True, "warnings": await self._said([body])}

    async def enqueue_batch(self, bodies: Sequence[Json]) -> Json:
        """Many at once, all or nothing."""
        runs = await self._new_runs(bodies)
        named = {new.id: new for new, body in zip(runs, bodies, strict=True) if body.get("id") is not None}
        if len(named) < sum(body.get("id") is not None for body in bodies):
            raise InvalidError("Two runs of the list have the same id; each is one run.", field="runs")
        await self._refuse_others(named)
        answers = await self._app.runs.enqueue(runs, repeat=bool(named))
        # Two that came at the same moment both found nothing before: the one that came second is told so now.
        await self._refuse_others(
            {answer.id: named[answer.id] for answer in answers if answer.existing and answer.id in named}
        )
        return {"ids": [answer.id for answer in answers], "warnings": await self._said(bodies)}

    async def cancel_runs(self, ids: Sequence[str]) -> Json:
        """Ends pending runs and asks running ones to stop."""
        return {"answers": await self._app.runs.cancel(*ids)}

    async def replay_run(self, run_id: str, body: Json) -> Json:
        """Runs it again."""
        asked = read_body(body, ReplayBody)
        row = await self._app.runs.row(run_id)
        new_id = None if asked.id is None else check_run_id(asked.id)
        args = row.args if asked.args is None else check_args(self._app, row.task, asked.args)
        if new_id is not None and (stands := await self._stands(new_id)) is not None:
            refuse_another(stands, NewRun(id=new_id, task=row.task, args=args, origin=Origin.REPLAY))
            if stands.replay_of != row.id:
                raise ConflictError(f"Run {new_id} stands already, made from another run.", field="id")
            return {**run_shape(stands), "existing": True}
        if row.state in LIVE_STATES:
            raise ConflictError(f"Run {row.id} is {row.state}: it is not over yet, so it cannot be run again.")
        if row.state is RunState.DEAD and asked.args is None:
            if new_id is not None:
                raise InvalidError(
                    f"Run {row.id} is dead, so it is put back under its own id and no run is made: "
                    "leave out id and Idempotency-Key.",
                    field="id",
                )
            return await self._put_back(row)
        return await self.get_run(await self._app.dead.replay_edited(row.id, args, new_id=new_id))

    async def edit_runs(self, where: Filter, body: Json) -> Json:
        """Lane, priority or time of pending runs."""
        asked = read_body(body, EditBody)
        if not any(msgspec.structs.astuple(asked)):
            raise InvalidError("The edit changes nothing; it must have one of priority, at and queue.", field="edit")
        edit = RunEdit(
            priority=None if asked.priority is None else Priority.parse(asked.priority),
            due_at=None if asked.at is None else parse_instant(asked.at, field="at"),
            queue=None if asked.queue is None else check_queue(asked.queue),
        )
        found = filters.changing_filter(where, self._moment)
        return {"ids": await self._app.runs.edit(found, edit)}

    async def list_dead(self, where: Filter) -> Json:
        """Dead runs that nobody has discarded."""
        found = filters.run_filter(where, self._moment, discarded=False)
        return await self._list(msgspec.structs.replace(found, states=(RunState.DEAD,)), filters.page(where))

    async def replay_dead(self, where: Filter) -> Json:
        """Puts dead runs back."""
        return {"answers": await self._app.dead.replay(filters.changing_filter(where, self._moment))}

    async def discard_dead(self, where: Filter) -> Json:
        """Takes dead runs out of the list."""
        return {"ids": await self._app.dead.discard(filters.changing_filter(where, self._moment))}

    async def _said(self, bodies: Sequence[Json]) -> list[str]:
        """What whoever asked for these runs should know."""
        tasks = list(dict.fromkeys(str(body["task"]) for body in bodies))
        unsure = [str(body["task"]) for body in bodies if any(body.get(key) is None for key in OWN_OPTIONS)]
        found = await self._warnings.of_tasks(tasks)
        return [*found, *(text for task in dict.fromkeys(unsure) for text in self._warnings.of_policy(task))]

    async def _new_runs(self, bodies: Sequence[Json]) -> list[NewRun]:
        """What to insert for each body; others get their turn in between, because 10,000 take half a second."""
        if len(bodies) > LARGEST_BATCH:
            raise InvalidError(f"runs has {len(bodies):,} items; at most {LARGEST_BATCH:,} are taken.", field="runs")
        runs = []
        fresh = self._app.core.new_run_ids(len(bodies))
        for place, body in enumerate(bodies):
            if place % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            try:
                runs.append(new_run(self._app, read_body(body, EnqueueBody), fresh[place]))
            except InvalidError as error:
                raise by_place(error, place) from error
        return runs

    async def _refuse_others(self, named: Mapping[str, NewRun]) -> None:
        """Refuses ids that stand already for something else."""
        if named:
            for row in await all_runs(self._app.store, RunFilter(ids=tuple(named))):
                refuse_another(row, named[row.id])

    async def _list(self, where: RunFilter, page: Page) -> Json:
        """One page, which ends early where its runs carry much, or where few of many fit."""
        shown: list[Run] = []
        size, after = 0, page.after
        for _ in range(_PARTS):
            part = await self._app.store.list_runs(where, Page(limit=min(page.limit - len(shown), _READ), after=after))
            for row in part.items:
                shown.append(row)
                size += _weight(row)
                if size > _LARGEST_REPLY and row is not part.items[-1]:
                    return _page(shown, row.id)
            after = part.next
            if after is None or len(shown) >= page.limit or size > _LARGEST_REPLY:
                break
        return _page(shown, after)

    async def _put_back(self, row: Run) -> Json:
        answers = await self._app.dead.replay(RunFilter(ids=(row.id,)))
        answer = answers.get(row.id, "missing")
        if answer != "replayed":
            raise _not_replayed(row.id, answer)
        return await self.get_run(row.id)


def _page(shown: Sequence[Run], after: str | None) -> Json:
    cursor = None if after is None else filters.cursor(after)
    return {"items": [run_shape(row) for row in shown], "next_cursor": cursor}


def _weight(row: Run) -> int:
    """About how long it is in a reply."""
    errors = (attempt.error for attempt in row.attempts if attempt.error is not None)
    return len(row.args) + len(row.result or "") + sum(len(error.message) + len(error.trace or "") for error in errors)


def _not_replayed(run_id: str, answer: str) -> PuntualError:
    word, _, holder = answer.partition(":")
    if word == "held_by":
        return ConflictError(f"Run {run_id} was not put back: its unique key is held by the live run {holder}.")
    if word == "not_dead":
        return ConflictError(f"Run {run_id} was not put back: it is not dead any more.")
    return NotFoundError(f"There is no run {run_id}; its history may have expired.", field="id")
