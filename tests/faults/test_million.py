"""A million rows lie in the database when its only server is killed: the next one claims and plans once it is up."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from puntual import App
from puntual.bench.postgres import backlog as on_postgres
from puntual.bench.sqlite import backlog as on_sqlite
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import LIVE_STATES, NewRun, RunState
from puntual.settings import Settings
from puntual.store.requests import RunFilter
from tests.support.fleet import Effects, Member, Noted, resumed
from tests.support.live import until_none
from tests.support.postgres import running_server
from tests.support.ticks import all_ticks, check_all_ran, check_record

ROWS = int(os.environ.get("FAULT_ROWS", "1000000"))
#: Those that are due.
DUE = 4_000
SCHEDULES = 100
#: Of each, seconds.
PERIOD = 2
SECOND = 1_000_000
#: From the start of the process until a run has been executed, and a tick that it planned. Seconds.
RESTARTED = 15.0
#: Until nothing that is due is left: what was held waits for the lease to end, and one lease more.
WORKED_OFF = 40.0
#: For so long nobody is there: longer than ticks are planned ahead.
DOWN = 6.0
LEASE = "3s"
PATIENT = RetryPolicy(max_attempts=100, backoff=Backoff.FIXED, delay_us=100_000, jitter=False)

pytestmark = [pytest.mark.fault, pytest.mark.timeout(300)]


class Place(NamedTuple):
    """A database with an empty schema, and what fills it: half with runs that are due in a year, half with history."""

    url: str
    fill: Callable[[int], object]


@pytest.fixture(params=["sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """One of either kind."""
    now = time.time_ns() // 1000
    if request.param == "sqlite":
        path = str(tmp_path / "puntual.db")

        def fill(half: int) -> None:
            on_sqlite.add_future(path, half, now)
            on_sqlite.add_history(path, half, now)

        yield Place(f"sqlite:///{path}", fill)
        return
    with running_server(durable=True) as server:
        url = server.url()

        def fill_there(half: int) -> None:
            asyncio.run(on_postgres.add_future(url, half, now))
            asyncio.run(on_postgres.add_history(url, half, now))

        yield Place(url, fill_there)


async def test_a_kill_among_a_million_rows(place: Place, tmp_path: Path) -> None:
    """Killed in the middle of its work: no row of those that only lie there keeps it from going on."""
    effects = Effects(tmp_path)
    one = {"every": f"{PERIOD}s", "task": "note", "overlap": "allow_all", "misfire_policy": "fire_all"}
    names = [f"beat-{n}" for n in range(SCHEDULES)]
    (tmp_path / "jobs.json").write_text(json.dumps({"schedules": dict.fromkeys(names, one)}))
    with Member(tmp_path, "serve", DATABASE_URL=place.url, LEASE_TTL=LEASE) as serve:
        done = await asyncio.to_thread(serve.run, "migrate")
        assert done.returncode == 0, done
        await asyncio.to_thread(place.fill, ROWS // 2)
        serve.start("--apply", "jobs.json")
        await asyncio.to_thread(serve.wait_for_log, "serve.started")
        accepted = await _enqueue(place.url)
        await resumed("the start", lambda: len(effects.noted()) > DUE // 8, within=60)
        await asyncio.to_thread(serve.kill)
        executed = len(effects.noted())
        print(f"killed after {executed} of {DUE}", file=sys.stderr)
        assert executed < DUE, "it was too late to break anything"
        await asyncio.sleep(DOWN)
        again = datetime.now(UTC)
        serve.start()
        await resumed("claiming", lambda: len(effects.noted()) > executed, within=RESTARTED)
        await resumed("planning", lambda: _ticks_after(effects, again), within=RESTARTED)
        await asyncio.to_thread(serve.ask, "schedule", "pause", *names)
        async with App(Settings(database_url=place.url)) as app:
            await _worked_off(app)
            assert await asyncio.to_thread(serve.stop) == 0
            await _check(app, effects, accepted, names)


def _ticks_after(effects: Effects, instant: datetime) -> list[Noted]:
    """Those executed ticks that nobody had planned before."""
    ticks = (one for one in effects.noted() if one.tick_at != "-")
    return [one for one in ticks if datetime.fromisoformat(one.tick_at) > instant]


async def _enqueue(url: str) -> set[str]:
    """What is due, half of it only once nobody is there, among what is not; gives the ids."""
    soon = time.time_ns() // 1000 + int(DOWN / 2 * SECOND)
    async with App(Settings(database_url=url)) as app:
        policy = RunPolicy(retry=PATIENT)
        runs = [
            NewRun(id=id, task="note", max_attempts=100, policy=policy, due_at=soon if n % 2 else None)
            for n, id in enumerate(app.core.new_run_ids(DUE))
        ]
        return {answer.id for answer in await app.store.enqueue(runs)}


async def _worked_off(app: App) -> None:
    """Until no run of ours is live."""
    began = time.monotonic()
    await until_none(app, RunFilter(states=LIVE_STATES, tasks=("note",)), within=WORKED_OFF + 60)
    took = time.monotonic() - began
    print(f"nothing is left after {took:.1f} s (stated: {WORKED_OFF:g} s)", file=sys.stderr)
    assert took <= WORKED_OFF


async def _check(app: App, effects: Effects, accepted: set[str], names: list[str]) -> None:
    effects.check()
    executed = {one.run_id for one in effects.noted()}
    assert accepted <= executed
    history = [await app.runs.row(run_id) for run_id in executed]
    assert {row.state for row in history} == {RunState.SUCCEEDED}
    ticks = [await all_ticks(app, name) for name in names]
    for each in ticks:
        check_record(each, PERIOD * SECOND)
        assert {tick.run_id for tick in check_all_ran(each)} <= executed
    print(f"{ROWS} rows, {len(executed)} runs, {sum(map(len, ticks))} ticks", file=sys.stderr)
