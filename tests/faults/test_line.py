"""The line to PostgreSQL is harmed for longer than a lease: nothing is done twice, and work resumes by itself."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from puntual import App
from puntual.model.attempt import OutcomeKind
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import COMMAND_TASK, NewRun
from puntual.settings import Settings
from tests.support.fleet import Effects, Member, resumed
from tests.support.load import Load, check_all_ended_once, under_load
from tests.support.postgres import PostgresServer, running_server
from tests.support.proxy import Proxy
from tests.support.ticks import all_ticks, check_all_ran, check_record

#: A beat has a quarter of it for its answer, which takes a second on the slow line. Seconds.
LEASE = 5.0
SECOND = 1_000_000
#: How long a line is harmed, seconds.
HARMED = float(os.environ.get("FAULT_HARMED", "7"))
#: Within this, seconds, the others have taken over from a process that is cut off.
TAKEN_OVER = LEASE + 8
#: Within this work goes on, once the line is whole again.
RESUMED = 10.0
#: Or once it is half open: nobody is told, and no answer is waited for longer than 35 s.
UNTOLD = 45.0
CLAIM = "$PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT"
BEAT = {
    "every": "1s",
    "command": ["/bin/sh", "-c", f"echo {CLAIM} >> done.txt"],
    "retry": {"max_attempts": 100, "backoff": "fixed", "delay": "100ms"},
    "misfire_policy": "fire_all",
    "overlap": "allow_all",
}

LONG = f"""
echo {CLAIM} >> done.txt; echo {CLAIM} start >> waited.txt
while [ ! -e go ]; do sleep 0.05; done
echo {CLAIM} end >> waited.txt
"""

pytestmark = [pytest.mark.fault, pytest.mark.timeout(300)]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that loses nothing."""
    with running_server(durable=True) as server:
        yield server


async def slow(line: Proxy) -> None:
    """Every answer takes a second; then the line is quick again."""
    line.latency = 0.5
    await asyncio.sleep(HARMED)
    line.latency = 0.0


async def reset(line: Proxy) -> None:
    """All connections are cut, over and over."""
    for _ in range(int(HARMED * 4)):
        line.reset()
        await asyncio.sleep(0.25)


async def blackhole(line: Proxy) -> None:
    """Nothing arrives, and nobody is told; then whoever waits is."""
    line.swallow()
    await asyncio.sleep(HARMED)
    line.heal()


async def half_open(line: Proxy) -> None:
    """The server drops all connections, and those who work are never told."""
    line.half_open()


HARMS = {slow: RESUMED, reset: RESUMED, blackhole: RESUMED, half_open: UNTOLD}


async def test_the_line_of_all_is_harmed_in_every_way(server: PostgresServer, tmp_path: Path) -> None:
    """Everybody is cut off alike, so nobody is taken for dead: what runs goes on, and then the rest as well."""
    effects = Effects(tmp_path)
    async with Proxy(server.port) as line:
        serve, worker = (member(tmp_path, name, line.through(server.url())) for name in ("serve", "worker"))
        with serve, worker:
            await begin(serve, worker)
            waits = await enqueue_long(server.url())
            async with under_load(server.url()) as load:
                await resumed("the start", effects.waited, within=60)
                for harm, within in HARMS.items():
                    # Until whoever rescues may end leases.
                    await asyncio.sleep(LEASE + 1)
                    await harm(line)
                    await resumed(harm.__name__, later(load, tmp_path), within=within)
                    await load.more(25)
            effects.let_go()
            await resumed("what went on", lambda: len(effects.waited()) > 1, within=5)
            await end(load, server, serve, worker)
    assert effects.waited() == [f"{waits} 1 start", f"{waits} 1 end"], "what ran was taken for lost"


async def test_the_line_of_one_leads_nowhere(server: PostgresServer, tmp_path: Path) -> None:
    """Another takes over what it holds; it goes on there meanwhile, and what it brings back is dropped."""
    effects = Effects(tmp_path)
    async with Proxy(server.port) as line:
        serve, near = (member(tmp_path, name, server.url()) for name in ("serve", "near"))
        far = member(tmp_path, "far", line.through(server.url()))
        with serve, near, far:
            await begin(serve, far, "--roles", "api,scheduler")
            waits = await enqueue_long(server.url())
            await resumed("the start", effects.waited, within=60)
            near.work()
            await asyncio.to_thread(near.wait_for_log, "worker.started")
            async with under_load(server.url()) as load:
                await load.more(25)
                await asyncio.sleep(LEASE + 1)
                line.swallow()
                await resumed("another worker", lambda: len(effects.waited()) > 1, within=TAKEN_OVER)
                await load.more(25)
                effects.let_go()
                await resumed("the end of both", lambda: len(effects.waited()) > 3, within=5)
                line.heal()
                await resumed("who was cut off", lambda: far.said("worker.lease_over"), within=10)
                await load.more(25)
            await end(load, server, serve, near, far)
    assert sorted(effects.waited()) == sorted(f"{waits} {n} {what}" for n in (1, 2) for what in ("start", "end"))
    async with App(Settings(database_url=server.url())) as app:
        row = await app.runs.row(waits)
    assert [attempt.outcome for attempt in row.attempts] == [OutcomeKind.LOST, OutcomeKind.SUCCEEDED]


def member(folder: Path, name: str, url: str) -> Member:
    """A process on that line."""
    return Member(folder, name, DATABASE_URL=url, LEASE_TTL=f"{LEASE:g}s", ALLOW_COMMANDS="/bin/sh")


async def begin(serve: Member, worker: Member, *arguments: str) -> None:
    """Both are up, on a migrated database and with a schedule that fires each second."""
    (serve.folder / "jobs.json").write_text(json.dumps({"schedules": {"beat": BEAT}}))
    done = await asyncio.to_thread(serve.run, "migrate")
    assert done.returncode == 0, done
    serve.start("--apply", "jobs.json", *arguments)
    await asyncio.to_thread(serve.wait_for_log, "serve.started")
    worker.work()
    await asyncio.to_thread(worker.wait_for_log, "worker.started")


async def enqueue_long(url: str) -> str:
    """Asks for a command that goes on until it is let go; gives its run's id."""
    retry = RetryPolicy(max_attempts=100, backoff=Backoff.FIXED, delay_us=100_000, jitter=False)
    args = json.dumps({"argv": ["/bin/sh", "-c", LONG]})
    async with App(Settings(database_url=url)) as app:
        id = app.core.new_run_id()
        run = NewRun(id=id, task=COMMAND_TASK, args=args, max_attempts=100, policy=RunPolicy(retry=retry))
        await app.store.enqueue([run])
    return id


def later(load: Load, folder: Path) -> Callable[[], bool]:
    """Whether one of the runs has been executed that are accepted from now on."""
    before = len(load.accepted)
    return lambda: any(run_id in (folder / "done.txt").read_text() for run_id in load.accepted[before:])


async def end(load: Load, server: PostgresServer, *members: Member) -> None:
    """Nothing is left, all stop in order; every run ended once, and each tick has run."""
    await asyncio.to_thread(members[0].ask, "schedule", "pause", "beat")
    await check_all_ended_once(load, server.url(), members[0].folder)
    for each in members:
        each.lives()
        assert await asyncio.to_thread(each.stop) == 0
    async with App(Settings(database_url=server.url())) as app:
        ticks = await all_ticks(app, "beat")
    check_record(ticks, SECOND)
    assert check_all_ran(ticks)
    print(f"{len(load.accepted)} runs and {len(ticks)} ticks accounted for", file=sys.stderr)
