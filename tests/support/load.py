"""Work for a real server while things break: a client that never gives up, and what every run must have come to."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

import puntual
from puntual.model.errors import StoreError
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import COMMAND_TASK, NewRun
from puntual.settings import Settings
from puntual.store.requests import QueueEdit
from tests.support.live import until_none

#: Seconds between runs, so that a small machine keeps up with their processes.
_PACE = 0.03
_WRITTEN = "done.txt"
_QUEUE = "commands"
_ARGV = ["/bin/sh", "-c", f"echo $PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT >> {_WRITTEN}"]
_PATIENT = RetryPolicy(max_attempts=100, backoff=Backoff.FIXED, delay_us=100_000, jitter=False)


class Load:
    """Commands, enqueued one after another; one that may have been accepted is asked for again until it was."""

    def __init__(self, app: puntual.App) -> None:
        self._app = app
        self._news = asyncio.Condition()
        #: Bytes of ballast in the arguments of each run, which cannot be compressed.
        self.padding = 0
        self.accepted: list[str] = []
        #: What was said when one was not accepted.
        self.refusals: list[StoreError] = []

    async def more(self, count: int) -> None:
        """Returns when so many more have been accepted."""
        wanted = len(self.accepted) + count
        async with self._news:
            await self._news.wait_for(lambda: len(self.accepted) >= wanted)

    async def refused(self) -> StoreError:
        """The next refusal."""
        seen = len(self.refusals)
        async with self._news:
            await self._news.wait_for(lambda: len(self.refusals) > seen)
        return self.refusals[-1]

    async def hold(self) -> None:
        """Nothing of it is started from now on."""
        await self._app.store.put_queue(QueueEdit(name=_QUEUE, paused=True))

    async def let_go(self) -> None:
        """It is started again."""
        await self._app.store.put_queue(QueueEdit(name=_QUEUE, paused=False))

    async def run(self) -> None:
        """Enqueues until it is cancelled."""
        while True:
            run = NewRun(
                id=self._app.core.new_run_id(),
                task=COMMAND_TASK,
                args=json.dumps({"argv": _ARGV, "env": {"PADDING": secrets.token_hex(self.padding // 2)}}),
                queue=_QUEUE,
                max_attempts=100,
                policy=RunPolicy(retry=_PATIENT),
            )
            await self._until_accepted(run)
            await asyncio.sleep(_PACE)

    async def _until_accepted(self, run: NewRun) -> None:
        repeat = False
        while True:
            try:
                await self._app.store.enqueue([run], repeat=repeat)
            except StoreError as error:
                repeat = True
                self.refusals.append(error)
                await self._tell()
                await asyncio.sleep(_PACE)
            else:
                self.accepted.append(run.id)
                await self._tell()
                return

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


@asynccontextmanager
async def under_load(url: str, *, listen_url: str | None = None) -> AsyncIterator[Load]:
    """Enqueues while inside; a ``listen_url`` says that the other one is of a transaction pooler."""
    pooler = "transaction" if listen_url else "none"
    async with puntual.App(Settings(database_url=url, pooler=pooler, listen_url=listen_url)) as app:
        load = Load(app)
        task = asyncio.create_task(load.run())
        try:
            yield load
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def check_all_ended_once(load: Load, url: str, folder: Path) -> None:
    """Every accepted run has succeeded once, and no claim of it was executed twice.

    Args:
        load: what was accepted.
        url: of the database, reached without what was harmed.
        folder: where the commands wrote.
    """
    async with puntual.App(Settings(database_url=url)) as app:
        await until_none(app)
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("SELECT id::text, state FROM puntual.run_history")
    await connection.close()
    check_ends(load, [(row["id"], row["state"]) for row in rows], folder)


def check_ends(load: Load, rows: Sequence[tuple[str, str]], folder: Path) -> None:
    """As ``check_all_ended_once``, given the ids and states of the history of all runs."""
    assert {state for _, state in rows} == {"succeeded"}
    ends = Counter(run_id for run_id, _ in rows)
    assert max(ends.values()) == 1, "a run has ended twice"
    assert ends.keys() >= set(load.accepted), "an accepted run is nowhere"
    claims = Counter((folder / _WRITTEN).read_text().splitlines())
    assert max(claims.values()) == 1, "one claim was executed twice"
    assert {line.split()[0] for line in claims} == ends.keys()
