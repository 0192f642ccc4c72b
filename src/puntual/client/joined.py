"""Calls become runs in a transaction of the application's: all of them with its commit, none of them without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from puntual.client.core import Core
from puntual.client.drivers import AtOnce, Awaited, find_driver
from puntual.model.call import Call
from puntual.model.errors import InvalidError
from puntual.model.run import NewRun
from puntual.store.requests import Enqueued, JoinSteps

#: Runs in one statement.
_CHUNK = 10_000


class Joined:
    """What enqueues through one connection of the application's.

    Args:
        core: the app's parts.
        connection: of asyncpg, psycopg 3 or SQLAlchemy, or the name of a Django database.

    Raises:
        InvalidError: the connection is nothing that can be used.
    """

    def __init__(self, core: Core, connection: object) -> None:
        self._core = core
        self._connection = connection
        self._driver = find_driver(connection)

    async def enqueue_calls(self, calls: Sequence[Call]) -> list[str]:
        """Inserts a run for each call and gives the id of the run that stands for it.

        A connection that is not async is used right here: its statements block the event loop as all others of it do.
        """
        ids: list[str] = []
        for runs in self._new_runs(calls):
            steps = await self._core.store.join(runs)
            if self._driver.awaited is not None:
                answers = await _taken_later(steps, self._driver.awaited)
            else:
                assert self._driver.at_once is not None
                answers = _taken(steps, self._driver.at_once)
            ids += [answer.id for answer in answers]
        return ids

    def enqueue_calls_sync(self, calls: Sequence[Call]) -> list[str]:
        """The same on the caller's own thread, where its transaction is.

        Raises:
            InvalidError: the connection is one for async code.
        """
        if self._driver.at_once is None:
            kind = type(self._connection)
            raise InvalidError(
                f"connection is a {kind.__module__}.{kind.__qualname__}, which is for async code: await enqueue.",
                field="connection",
            )
        ids: list[str] = []
        for runs in self._new_runs(calls):
            steps = self._core.block(self._core.store.join(runs))
            ids += [answer.id for answer in _taken(steps, self._driver.at_once)]
        return ids

    def _new_runs(self, calls: Sequence[Call]) -> Iterator[list[NewRun]]:
        for start in range(0, len(calls), _CHUNK):
            chunk = calls[start : start + _CHUNK]
            ids = self._core.new_run_ids(len(chunk))
            yield [call.new_run(id) for call, id in zip(chunk, ids, strict=True)]


def _taken(steps: JoinSteps, take: AtOnce) -> list[Enqueued]:
    try:
        statement = next(steps)
        while True:
            try:
                answer = take(statement)
            except Exception as error:  # noqa: BLE001 - the steps know what it means, and raise it again
                steps.throw(error)
            else:
                statement = steps.send(answer)
    except StopIteration as end:
        answers: list[Enqueued] = end.value
        return answers


async def _taken_later(steps: JoinSteps, take: Awaited) -> list[Enqueued]:
    try:
        statement = next(steps)
        while True:
            try:
                answer = await take(statement)
            except Exception as error:  # noqa: BLE001 - as in _taken
                steps.throw(error)
            else:
                statement = steps.send(answer)
    except StopIteration as end:
        answers: list[Enqueued] = end.value
        return answers
