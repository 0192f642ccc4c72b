"""Enqueue: pending runs are inserted, unless their id stands already or their unique key is held."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Final

import asyncpg

from puntual.model.errors import StoreDataError
from puntual.model.run import NewRun
from puntual.store.postgres.copy import copy_runs, may_be_copied
from puntual.store.postgres.errors import DATA_ERRORS, translate
from puntual.store.postgres.inserting import KEY, Insert, Look, Step, Withdraw, as_objects, busy, inserting
from puntual.store.postgres.joined import joining
from puntual.store.postgres.session import Session
from puntual.store.postgres.statements import columns
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Enqueued, JoinSteps
from puntual.store.rows.codec import NewRow, encode, new_row

#: Milliseconds that a transaction of ours waits for a unique key that another, still open, has taken.
PATIENCE_MS: Final = 5_000
#: Runs in one statement of a group: more would make the first caller wait for the encoding of the last one's.
_GROUP = 2_000
#: Statements of groups under way at once: whoever comes while one commits need not wait for that. 20 callers made
#: 2-4,000 runs/s by one, 5-10,000 by two; 500 callers 16-25,000 either way.
_ABREAST = 2


def new_rows(runs: Sequence[NewRun]) -> list[NewRow]:
    """Runs as parameters.

    Raises:
        StoreDataError: a run holds what no database text can.
    """
    try:
        return [new_row(run) for run in runs]
    except DATA_ERRORS as error:
        raise translate(error) from error


async def insert(
    tx: Tx, runs: Sequence[NewRun], *, repeat: bool = False, patience_ms: int = PATIENCE_MS
) -> list[Enqueued]:
    """Inserts inside a transaction that somebody else began: plans, follow-ups, triggers.

    Args:
        tx: the transaction.
        runs: what to insert.
        repeat: look for the ids in history too.
        patience_ms: how long to wait for a unique key that another transaction, still open, has taken.

    Raises:
        StoreBusyError: that was too short.
    """
    lanes = sorted({run.queue for run in runs})
    return await _insert(tx, new_rows(runs), lanes, repeat=repeat, patience_ms=patience_ms)


async def _insert(
    tx: Tx, rows: Sequence[NewRow], lanes: Sequence[str], *, repeat: bool, patience_ms: int = PATIENCE_MS
) -> list[Enqueued]:
    steps = inserting(rows, repeat=repeat)
    try:
        step = next(steps)
        while True:
            step = steps.send(await _take(tx, step, lanes, patience_ms))
    except StopIteration as end:
        answers: list[Enqueued] = end.value
        return answers
    except asyncpg.LockNotAvailableError as error:
        if (meaning := busy(rows)) is None:
            raise
        raise meaning from error


async def _take(tx: Tx, step: Step, lanes: Sequence[str], patience_ms: int) -> str:
    """One step, as a statement."""
    now = tx.now or None
    match step:
        case Insert(rows) if any(row[KEY] is not None for row in rows):
            return await tx.text("enqueue_patiently", now, as_objects(rows), patience_ms, "[]", encode(lanes))
        case Insert(rows):
            return await tx.text("enqueue_runs", now, lanes, *columns(rows))
        case Withdraw(ids):
            return await tx.text("enqueue_withdraw", ids)
        case Look(rows, history):
            return await tx.text("enqueue_standing", as_objects(rows), history)


class _Call:
    """Rows of one caller, who waits for their answers."""

    __slots__ = ("future", "now", "rows")

    def __init__(self, rows: Sequence[NewRow], now: int | None) -> None:
        self.rows = rows
        self.now = now
        self.future: asyncio.Future[list[Enqueued]] = asyncio.get_running_loop().create_future()

    def answer(self, answers: list[Enqueued]) -> None:
        if not self.future.done():
            self.future.set_result(answers)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Enqueuer:
    """Puts calls that arrive together into one statement, large ones through COPY."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: deque[_Call] = deque()
        self._sending = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._met: set[str] = set()
        session.lost.append(self._met.clear)

    async def enqueue(self, runs: Sequence[NewRun], *, repeat: bool, now: int | None) -> list[Enqueued]:
        """As ``RunStore.enqueue``."""
        if not runs:
            return []
        await self.meet({run.queue for run in runs})
        if not repeat and now is None and may_be_copied(runs):
            copied = await copy_runs(self._session, runs)
            if copied is not None:
                return copied
        rows = new_rows(runs)
        if repeat or any(row[KEY] is not None for row in rows):
            # One keyed run is one statement, or, where it is not inserted, one statement and looks: nothing to undo.
            do = self._session.write if repeat or len(rows) > 1 else self._session.single
            return await do(lambda tx: _insert(tx, rows, (), repeat=repeat), now=now)
        call = _Call(rows, now)
        self._waiting.append(call)
        if self._sending < _ABREAST:
            self._sending += 1
            task = asyncio.create_task(self._send())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await call.future

    async def join(self, runs: Sequence[NewRun], *, hint: bool) -> JoinSteps:
        """As ``RunStore.join``; new names of queues are written before, or others would wait for the caller's end."""
        rows = new_rows(runs)
        await self.meet({run.queue for run in runs})
        return joining(rows, patience_ms=PATIENCE_MS, hint=hint)

    async def meet(self, queues: Iterable[str]) -> None:
        """Writes the names of queues that this process has not met, before the first run that is in one."""
        new = sorted(set(queues) - self._met)
        if new:
            await self._session.single(lambda tx: tx.change("enqueue_lanes", new))
            self._met.update(new)

    async def close(self) -> None:
        """Waits for what was accepted."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _send(self) -> None:
        try:
            while self._waiting:
                await self._write(self._group())
        finally:
            # At once after the look at the line, not when the task is done: who was answered may call before that.
            self._sending -= 1

    def _group(self) -> list[_Call]:
        """The calls that go together: those that came first, as far as they go by the same time."""
        calls = [self._waiting.popleft()]
        size = len(calls[0].rows)
        while self._waiting and self._waiting[0].now == calls[0].now:
            size += len(self._waiting[0].rows)
            if size > _GROUP:
                break
            calls.append(self._waiting.popleft())
        return calls

    async def _write(self, calls: Sequence[_Call]) -> None:
        """One statement for all; each by itself if it fails on data. Nothing is raised: whoever waits is told."""
        rows = [row for call in calls for row in call.rows]
        try:
            answers = iter(await self._session.single(lambda tx: _insert(tx, rows, (), repeat=False), now=calls[0].now))
            for call in calls:
                call.answer([next(answers) for _ in call.rows])
        except StoreDataError as error:
            if len(calls) == 1:
                calls[0].fail(error)
                return
            for call in calls:
                await self._write([call])
        except Exception as error:  # noqa: BLE001 - whoever waits for a call must be answered, whatever happened
            for call in calls:
                call.fail(copy(error))
