"""Handlers that leak until nothing is left: their process says so and is replaced, and nobody's run is lost for it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual import App
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import NewRun, RunState
from puntual.settings import Settings
from puntual.store.requests import Page, RunFilter
from tests.support.fleet import Effects, Member, resumed

TASKS = """

import threading

kept = []


@app.task(name="files")
async def files() -> None:
    kept.append(open("/dev/null"))


@app.task(name="threads")
def threads() -> None:
    threading.Thread(target=threading.Event().wait).start()


@app.task(name="memory")
async def memory() -> None:
    kept.append(b"x" * 10_000_000)


@app.task(name="plain")
def plain(run: puntual.Run) -> None:
    os.write(noted, f"{run.id} {run.attempt} - -\\n".encode())
"""
COMMAND = {
    "every": "1s",
    "command": [
        "/bin/sh",
        "-c",
        "echo $PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT $PUNTUAL_SCHEDULE $PUNTUAL_TICK_AT >> noted.txt",
    ],
    "retry": {"max_attempts": 100, "backoff": "fixed", "delay": "300ms"},
    "misfire_policy": "fire_all",
    "overlap": "allow_all",
}
#: More than both processes can stand.
LEAKS = 150
#: From the first word of it until everything that was accepted has ended, seconds: looks, drains, pauses and starts,
#: several times.
RESUMED = 60.0
PATIENT = RetryPolicy(max_attempts=100, backoff=Backoff.FIXED, delay_us=1_000_000, jitter=False)

pytestmark = [pytest.mark.fault, pytest.mark.timeout(180)]


class Limited(Member):
    """Processes that may have no more than a limit."""

    limit = ""

    def command(self, *arguments: str) -> list[str]:
        """As of ``Served``, under the limit where there is one."""
        return [*(["prlimit", self.limit] if self.limit else []), *super().command(*arguments)]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """A client on the database of the processes, in this one."""
    async with App(Settings(database_url=f"sqlite:///{tmp_path}/puntual.db")) as app:
        yield app


@pytest.mark.parametrize(
    ("what", "limit"), [("files", "--nofile=80"), ("threads", "--as=1500000000"), ("memory", "--as=900000000")]
)
async def test_a_handler_that_leaks(app: App, tmp_path: Path, what: str, limit: str) -> None:
    """Two processes of a supervisor end, one after the other, and come back, until all that was accepted succeeded."""
    effects = Effects(tmp_path, TASKS)
    (tmp_path / "jobs.json").write_text(json.dumps({"schedules": {"command": COMMAND}}))
    with Limited(tmp_path, "serve", DATABASE_URL=app.settings.database_url, ALLOW_COMMANDS="/bin/sh") as serve:
        serve.limit = limit
        serve.start("--apply", "jobs.json", "--processes", "2")
        await asyncio.to_thread(serve.wait_for_log, "serve.started")
        serve.limit = ""
        accepted = await _enqueue(app, what)
        await asyncio.to_thread(serve.wait_for_log, "process.exhausted")
        serve.lives()
        done = asyncio.create_task(_ended(app, accepted))
        await resumed(f"after {what} ran out", done.done, within=RESUMED)
        before = len(effects.noted())
        await resumed("a command", lambda: len(effects.noted()) > before, within=RESUMED)
        await asyncio.to_thread(serve.ask, "schedule", "pause", "command")
        await _nothing_live(app)
        assert await asyncio.to_thread(serve.stop) == 0
    assert serve.said("supervisor.restarts") >= 1
    await _check(app, effects, accepted, what)


async def _enqueue(app: App, what: str) -> dict[str, str]:
    """One that leaks, and two that do not, again and again; gives the task of each id."""
    accepted = {}
    for _ in range(LEAKS):
        for task in (what, "note", "plain"):
            run = NewRun(id=app.core.new_run_id(), task=task, max_attempts=100, policy=RunPolicy(retry=PATIENT))
            await app.store.enqueue([run])
            accepted[run.id] = task
        await asyncio.sleep(0.01)
    return accepted


async def _ended(app: App, accepted: dict[str, str]) -> None:
    for run_id in accepted:
        await app.runs.finished(run_id, timeout="120s")


async def _nothing_live(app: App) -> None:
    async with asyncio.timeout(60):
        while await app.runs.find(RunFilter(states=(RunState.PENDING, RunState.RUNNING)), Page(limit=1)):
            await asyncio.sleep(0.05)


async def _check(app: App, effects: Effects, accepted: dict[str, str], what: str) -> None:
    effects.check()
    rows = [await app.runs.row(run_id) for run_id in accepted]
    assert {row.state for row in rows} == {RunState.SUCCEEDED}
    assert not any(row.lost for row in rows), "a process was killed, or taken for dead"
    executed = {one.run_id for one in effects.noted()}
    assert {run_id for run_id, task in accepted.items() if task != what} <= executed
    commands = [found.row for found in await app.runs.find(RunFilter(tasks=("command",)), Page(limit=1000))]
    assert {row.state for row in commands} == {RunState.SUCCEEDED}
    tried = {task: max(row.attempt for row in rows if row.task == task) for task in (what, "note", "plain")}
    print(f"most attempts: {tried}, commands: {max(row.attempt for row in commands)}", file=sys.stderr)
