"""Processes under a supervisor, killed at random: each comes back, no run is lost, no claim is executed twice."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from puntual import App
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import COMMAND_TASK, NewRun, RunState
from puntual.settings import Settings
from tests.support.flaky import until
from tests.support.processes import gone
from tests.support.served import Served

#: Not many: the pause before a start grows with each quick death.
KILLS = int(os.environ.get("FAULT_PROCESS_KILLS", "10"))
SEED = int(os.environ.get("FAULT_SEED", random.SystemRandom().randrange(10**6)))
PROCESSES = 3
PATIENT = RetryPolicy(max_attempts=100, backoff=Backoff.FIXED, delay_us=100_000, jitter=False)
EVENT = '{"argv":["/bin/sh","-c","sleep 0.1; echo $PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT >> events.txt"]}'


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """A client on the database of the processes, in this one."""
    app = App(Settings(database_url=f"sqlite:///{tmp_path}/puntual.db"))
    async with app:
        yield app


@pytest.mark.fault
@pytest.mark.timeout(900)
async def test_killed_processes_come_back_and_no_run_is_lost(app: App, tmp_path: Path) -> None:
    """Whichever is hit, the one with the API too; in the end there are as many as at the start, and all drain."""
    print(f"seed {SEED}, {KILLS} kills", file=sys.stderr)
    chance = random.Random(SEED)
    accepted: list[str] = []
    with Served(tmp_path, ALLOW_COMMANDS="/bin/sh", LEASE_TTL="1s", SHUTDOWN_GRACE="10s") as served:
        served.start("--processes", str(PROCESSES))
        assert served.process is not None
        supervisor = psutil.Process(served.process.pid)
        await until(lambda: len(supervisor.children()) == PROCESSES, every=0.05)
        for _ in range(KILLS):
            moment = time.monotonic() + chance.uniform(0.0, 1.5)
            while time.monotonic() < moment:
                accepted += [answer.id for answer in await app.runs.enqueue([_event(app)])]
                await asyncio.sleep(chance.uniform(0.0, 0.1))
            await _kill_one(supervisor, chance)
        for run_id in accepted:
            await app.runs.finished(run_id, timeout="120s")
        await until(lambda: len(supervisor.children()) == PROCESSES, every=0.05)
        kept = supervisor.children()
        assert served.stop() == 0
        assert gone(kept)
    await _check(app, accepted, tmp_path / "events.txt")
    restarts = served.log.read_text(encoding="utf-8").count("supervisor.restarts")
    print(f"{len(accepted)} runs, {restarts} restarts", file=sys.stderr)
    assert restarts == KILLS


async def _kill_one(supervisor: psutil.Process, chance: random.Random) -> None:
    """Kills one that lives, once there is one."""
    living = await until(lambda: _living(supervisor), every=0.05)
    chance.choice(living).kill()


def _living(supervisor: psutil.Process) -> list[psutil.Process]:
    """Those that are nobody's corpse."""
    return [each for each in supervisor.children() if each.status() != psutil.STATUS_ZOMBIE]


def _event(app: App) -> NewRun:
    policy = RunPolicy(retry=PATIENT)
    return NewRun(id=app.core.new_run_id(), task=COMMAND_TASK, args=EVENT, max_attempts=100, policy=policy)


async def _check(app: App, accepted: list[str], written: Path) -> None:
    for run_id in accepted:
        row = await app.runs.row(run_id)
        assert row.state is RunState.SUCCEEDED, row
    claims = Counter(written.read_text(encoding="utf-8").split("\n")[:-1])
    assert {line.split()[0] for line in claims} == set(accepted)
    assert max(claims.values()) == 1, "one claim was executed twice"
