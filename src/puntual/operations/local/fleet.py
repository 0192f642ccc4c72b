"""Queues, workers, tasks, tokens, and how things stand, on the database of an app."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches

import msgspec

from puntual.model.call import check_name
from puntual.model.errors import InvalidError, NotFoundError
from puntual.model.fleet import Queue
from puntual.model.names import check_queue
from puntual.model.run import COMMAND_TASK, HTTP_TASK
from puntual.operations import filters, tokens
from puntual.operations.bodies import QueueBody, TokenBody, read_body
from puntual.operations.contract import Json
from puntual.operations.local import living
from puntual.operations.local.base import Local
from puntual.operations.local.health import checks
from puntual.operations.local.status import status
from puntual.operations.shapes import queue_shape, token_shape, worker_shape
from puntual.store.requests import QueueEdit


class LocalFleet(Local):
    """``FleetOperations``."""

    async def list_queues(self) -> Json:
        """Queues with their counts."""
        return {"items": [queue_shape(queue) for queue in (await self._app.store.snapshot()).queues]}

    async def set_queue(self, name: str, body: Json) -> Json:
        """Limits, pauses or resumes a queue; what is not given stays."""
        name = check_queue(name, field="name")
        asked = read_body(body, QueueBody)
        await self._app.store.put_queue(_edit(name, asked))
        self._app.wake.hint([name])
        return {**queue_shape(await self._queue(name))}

    async def list_workers(self) -> Json:
        """Workers whose lease nobody has ended; those that are overdue say so."""
        workers, now = await self._app.store.list_workers(), await self._app.store.now()
        return {"items": [worker_shape(worker, now) for worker in workers]}

    async def drain_worker(self, worker_id: str) -> Json:
        """Lets one finish what it holds and take nothing more."""
        if not await self._app.store.drain_worker(worker_id):
            raise NotFoundError(
                f"There is no live worker {worker_id[:100]!r}.", hint=await self._near(worker_id), field="id"
            )
        return {"id": worker_id, "draining": True}

    async def _near(self, worker_id: str) -> str | None:
        """The ids that may be meant: an id is long, and anew at each start."""
        ids = [worker.id for worker in await self._app.store.list_workers()]
        near = [each for each in ids if worker_id and each.startswith(worker_id)]
        near = near or get_close_matches(worker_id[:100], ids, cutoff=0.5)
        return f"Near it {'is' if len(near) == 1 else 'are'}: {', '.join(near[:3])}." if near else None

    async def list_tasks(self) -> Json:
        """Tasks known to this process and to live workers."""
        here = {HTTP_TASK, COMMAND_TASK, *self._app.registry.names()}
        live = living.working(await self._app.store.list_workers(), await self._app.store.now())
        workers = Counter(task for worker in live for task in worker.tasks)
        return {
            "items": [
                {"name": name, "here": name in here, "workers": workers[name]} for name in sorted(here | set(workers))
            ]
        }

    async def status(self, since: str | None = None) -> Json:
        """How things stand, in one sentence and then in detail."""
        moment = self._moment
        return await status(self._app, filters.when(since or "yesterday", "since", moment), moment.now)

    async def health(self) -> Json:
        """Whether every part does its work."""
        found = await checks(self._app)
        return {"ok": all(check.ok for check in found), "checks": msgspec.to_builtins(found)}

    async def create_token(self, body: Json) -> Json:
        """A new token, with its text this once."""
        asked = read_body(body, TokenBody)
        text = tokens.token_text(self._app.random.bytes(tokens.RANDOM_BYTES))
        token = tokens.new_token(
            text,
            name=check_name(asked.name, field="name") if asked.name else "",
            scope=asked.scope,
            now=self._app.clock.now(),
            expires_at=None if asked.expires is None else filters.later(asked.expires, "expires", self._moment),
        )
        await self._app.store.put_token(token)
        return {**token_shape(token), "token": text}

    async def list_tokens(self) -> Json:
        """Tokens, without their text."""
        return {"items": [token_shape(token) for token in await self._app.store.list_tokens()]}

    async def revoke_token(self, token_id: str) -> Json:
        """Forgets one."""
        if not await self._app.store.revoke_token(token_id):
            raise NotFoundError(f"There is no token {token_id[:100]!r}.", field="id")
        return {"revoked": token_id}

    async def _queue(self, name: str) -> Queue:
        queues = (await self._app.store.snapshot()).queues
        return next((queue for queue in queues if queue.name == name), Queue(name=name))


def _edit(name: str, asked: QueueBody) -> QueueEdit:
    limit = asked.concurrency
    if isinstance(limit, int) and not 1 <= limit <= filters.MOST_AT_ONCE:
        raise InvalidError(
            f"concurrency is {limit}; it must be from 1 to {filters.MOST_AT_ONCE:,}, or null for no limit.",
            field="concurrency",
        )
    if asked.pause_reason is not None and asked.paused is not True:
        raise InvalidError("pause_reason goes with paused: true.", field="pause_reason")
    return QueueEdit(name=name, paused=asked.paused, pause_reason=asked.pause_reason, concurrency=limit)
