"""SIGKILL at random instants, again and again: no run lost, no tick repeated, by the store and by what was written."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual import App
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import COMMAND_TASK, NewRun, RunState
from puntual.model.schedule import Tick
from puntual.settings import Settings
from puntual.store.requests import Page, RunFilter
from tests.support.served import Served
from tests.support.ticks import all_ticks, check_all_ran, check_record

KILLS = int(os.environ.get("FAULT_KILLS", "25"))
SEED = int(os.environ.get("FAULT_SEED", random.SystemRandom().randrange(10**6)))
SCHEDULES = 4
SECOND = 1_000_000
PATIENT = RetryPolicy(max_attempts=100, backoff=Backoff.FIXED, delay_us=SECOND // 10, jitter=False)

MANIFEST = """
defaults: {misfire_policy: fire_all, overlap: allow_all}
schedules:
%s
"""
ONE = """
  beat-%d:
    every: 1s
    command: [/bin/sh, -c, 'echo "$PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT $PUNTUAL_SCHEDULE $PUNTUAL_TICK_AT" >> ticks.txt']
    retry: {max_attempts: 100, backoff: fixed, delay: 100ms, jitter: false}
"""
EVENT = '{"argv":["/bin/sh","-c","echo $PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT >> events.txt"]}'


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """A client on the server's database, in this process."""
    app = App(Settings(database_url=f"sqlite:///{tmp_path}/puntual.db"))
    async with app:
        yield app


@pytest.mark.fault
@pytest.mark.timeout(1800)
async def test_kills_lose_no_run_and_repeat_no_tick(app: App, tmp_path: Path) -> None:
    """G1, G2 and G4 against a real process: whatever instant it dies at, the next one goes on."""
    print(f"seed {SEED}, {KILLS} kills", file=sys.stderr)
    chance = random.Random(SEED)
    (tmp_path / "beats.yaml").write_text(MANIFEST % "".join(ONE % n for n in range(SCHEDULES)))
    accepted: list[str] = []
    with Served(tmp_path, ALLOW_COMMANDS="/bin/sh", LEASE_TTL="1s", SHUTDOWN_GRACE="5s") as served:
        assert served.run("apply", "beats.yaml").returncode == 0
        for _ in range(KILLS):
            served.start()
            moment = time.monotonic() + chance.uniform(0.0, 3.0)
            while time.monotonic() < moment:
                accepted += [answer.id for answer in await app.runs.enqueue([_event(app)])]
                await asyncio.sleep(chance.uniform(0.0, 0.2))
            served.kill()
        served.start()
        await _until_all_is_done(app, accepted)
        assert served.run("schedule", "pause", *(f"beat-{n}" for n in range(SCHEDULES))).returncode == 0
        await _until_all_is_done(app, accepted)
        assert served.stop() == 0
    await _check_events(app, accepted, tmp_path / "events.txt")
    ticks = [await all_ticks(app, f"beat-{n}") for n in range(SCHEDULES)]
    _check_ticks(ticks, tmp_path / "ticks.txt")
    print(f"{len(accepted)} events and {sum(map(len, ticks))} ticks accounted for", file=sys.stderr)


def _event(app: App) -> NewRun:
    policy = RunPolicy(retry=PATIENT)
    return NewRun(id=app.core.new_run_id(), task=COMMAND_TASK, args=EVENT, max_attempts=100, policy=policy)


async def _until_all_is_done(app: App, accepted: list[str]) -> None:
    """Every accepted run has ended, and no tick is older than a few seconds."""
    for run_id in accepted:
        await app.runs.finished(run_id, timeout="120s")
    while await _behind(app):
        await asyncio.sleep(0.1)


async def _behind(app: App) -> bool:
    """Whether a tick is older than a few seconds and undecided, or a run that is due has not ended."""
    now = (await app.store.snapshot()).now
    schedules = await app.schedules.find()
    if any(not one.pause and (one.cursor.next_due_at or 0) < now - 2 * SECOND for one in schedules):
        return True
    live = await app.runs.find(RunFilter(states=(RunState.PENDING, RunState.RUNNING)), Page(limit=1000))
    return any(run.row.due_at < now - 2 * SECOND or schedules[0].pause for run in live)


async def _check_events(app: App, accepted: list[str], written: Path) -> None:
    assert len(set(accepted)) == len(accepted)
    for run_id in accepted:
        row = await app.runs.row(run_id)
        assert (row.state, row.charged <= row.max_attempts) == (RunState.SUCCEEDED, True), row
    lines = written.read_text().split("\n")[:-1]
    claims = Counter(tuple(line.split()) for line in lines)
    assert {run_id for run_id, _ in claims} == set(accepted)
    assert max(claims.values()) == 1, "one claim was executed twice"


def _check_ticks(schedules: list[list[Tick]], written: Path) -> None:
    lines = [line.split() for line in written.read_text().split("\n")[:-1]]
    claims = Counter((run_id, attempt) for run_id, attempt, _, _ in lines)
    assert max(claims.values()) == 1, "one claim was executed twice"
    runs_of_tick: dict[tuple[str, str], set[str]] = {}
    for run_id, _, schedule, tick_at in lines:
        runs_of_tick.setdefault((schedule, tick_at), set()).add(run_id)
    assert max(map(len, runs_of_tick.values())) == 1, "a tick has two runs"
    for ticks in schedules:
        check_record(ticks, SECOND)
        ran = check_all_ran(ticks)
        assert len(ran) > KILLS, "hardly a tick ran"
        done = {tick.run_id for tick in ran if tick.run_state is RunState.SUCCEEDED}
        assert done <= {run_id for run_id, _ in claims}, "a run has succeeded that no command wrote"
        assert len(done) == len(ran), "a tick's run did not succeed"
