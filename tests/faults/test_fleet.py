"""Three servers on one PostgreSQL, killed at random: every tick runs once, and the upkeep changes hands in time."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import pytest

from puntual import App
from puntual.settings import Settings
from tests.support.fleet import Effects, Member
from tests.support.live import until_none
from tests.support.postgres import PostgresServer, running_server

SECONDS = float(os.environ.get("FLEET_SECONDS", "40"))
KILLS = int(os.environ.get("FLEET_KILLS", "12"))
SCHEDULES = int(os.environ.get("FLEET_SCHEDULES", "3000"))
AWAY = float(os.environ.get("FAULT_AWAY", "15"))
SEED = int(os.environ.get("FAULT_SEED", random.SystemRandom().randrange(10**6)))
LEASE = 3.0
#: Each schedule fires five times, at its own moment of the period.
PERIOD = f"{max(SECONDS / 5, 5):.0f}s"
SECOND = 1_000_000

LONG = """
schedules:
  long:
    when: "@yearly"
    command: [/bin/sh, -c, 'echo start >> long.txt; while [ ! -e go ]; do sleep 0.1; done; echo end >> long.txt']
  beat:
    every: 1s
    command: [/bin/sh, -c, 'echo "$PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT" >> beats.txt']
    retry: {max_attempts: 10, delay: 100ms}
    misfire_policy: fire_all
    overlap: allow_all
"""

pytestmark = [pytest.mark.fault, pytest.mark.timeout(1800)]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that loses nothing when it is killed."""
    with running_server(durable=True) as server:
        yield server


@pytest.fixture
async def database(server: PostgresServer, tmp_path: Path) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A connection for looking, on a migrated database; the tasks of a fleet are there."""
    Effects(tmp_path)
    served = _served(tmp_path, server, "migrate")
    done = await asyncio.to_thread(served.run, "migrate")
    assert done.returncode == 0, done.stderr
    connection = await asyncpg.connect(server.url())
    yield connection
    if not connection.is_closed():
        await connection.close()


def _served(folder: Path, server: PostgresServer, name: str) -> Member:
    """One of several servers of one folder."""
    return Member(folder, name, DATABASE_URL=server.url(), ALLOW_COMMANDS="/bin/sh", LEASE_TTL=f"{LEASE:.0f}s")


async def test_three_servers_share_the_schedules_while_any_of_them_is_killed(
    server: PostgresServer, database: asyncpg.Connection[asyncpg.Record], tmp_path: Path
) -> None:
    """No tick is lost, none runs as two runs, and no claim is executed twice, whoever dies at whatever instant."""
    print(f"seed {SEED}: {SCHEDULES} schedules, {KILLS} kills in {SECONDS:.0f} s", file=sys.stderr)
    chance = random.Random(SEED)
    effects = Effects(tmp_path)
    one = {
        "every": PERIOD,
        "spread": PERIOD,
        "task": "note",
        "overlap": "allow_all",
        "misfire_policy": "fire_all",
        "tags": ["fleet"],
    }
    (tmp_path / "beats.json").write_text(json.dumps({"schedules": {f"beat-{n:05}": one for n in range(SCHEDULES)}}))
    with ExitStack() as stack:
        fleet = [stack.enter_context(_served(tmp_path, server, f"serve-{n}")) for n in range(3)]
        for served in fleet:
            served.start()
        applied = await asyncio.to_thread(fleet[0].run, "apply", "beats.json")
        assert applied.returncode == 0, applied.stderr
        await _kill_at_random(fleet, chance)
        print(f"{KILLS} kills done", file=sys.stderr)
        paused = await asyncio.to_thread(fleet[0].run, "schedule", "pause", "--tag", "fleet")
        assert paused.returncode == 0, paused.stderr
        async with App(Settings(database_url=server.url())) as app:
            await until_none(app, within=180)
        for served in fleet:
            assert await asyncio.to_thread(served.stop) == 0
    await _check(database, effects)


async def _kill_at_random(fleet: list[Member], chance: random.Random) -> None:
    """One after another, whichever it is, at any moment of its life; the next one is started at once."""
    for _ in range(KILLS):
        await asyncio.sleep(SECONDS / KILLS * chance.uniform(0.5, 1.5))
        served = chance.choice(fleet)
        await asyncio.to_thread(served.kill)
        served.start()


async def _check(database: asyncpg.Connection[asyncpg.Record], effects: Effects) -> None:
    effects.check()
    done = {one.run_id for one in effects.noted()}
    history = await database.fetch(
        "SELECT id::text, schedule, tick_number, state FROM puntual.run_history WHERE tick_number IS NOT NULL"
    )
    assert {row["state"] for row in history} == {"succeeded"}
    assert {row["id"] for row in history} <= done, "a run has succeeded that nobody wrote"
    numbers: dict[str, list[int]] = {}
    for row in history:
        numbers.setdefault(row["schedule"], []).append(row["tick_number"])
    assert len(numbers) == SCHEDULES, "a schedule never ran"
    assert len(history) > 3 * SCHEDULES, "hardly a tick ran"
    for schedule, found in numbers.items():
        assert sorted(found) == list(range(1, len(found) + 1)), f"{schedule} lacks a tick, or has one twice"
    lost = await database.fetchval("SELECT count(*) FROM puntual.tick_stretches WHERE fate <> 'skipped'")
    assert lost == 0, "a tick was missed or coalesced"
    print(
        f"{len(history)} ticks of {SCHEDULES} schedules accounted for, {len(effects.noted())} claims", file=sys.stderr
    )


async def _holder(database: asyncpg.Connection[asyncpg.Record]) -> str | None:
    """Who holds the upkeep lease, if it has not run out."""
    found: str | None = await database.fetchval(
        "SELECT holder FROM puntual.leases WHERE lease_until > puntual.now_us()"
    )
    return found


async def _until(check: Callable[[], object], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.02)


async def _seconds_to_another(database: asyncpg.Connection[asyncpg.Record], old: str) -> float:
    started = time.monotonic()
    async with asyncio.timeout(60):
        while await _holder(database) in (old, None):
            await asyncio.sleep(0.01)
    return time.monotonic() - started


async def _seconds_to_resign(database: asyncpg.Connection[asyncpg.Record], old: str) -> float:
    started = time.monotonic()
    async with asyncio.timeout(60):
        while await _holder(database) == old:
            await asyncio.sleep(0.01)
    return time.monotonic() - started


@pytest.mark.parametrize(
    ("how", "within"), [(signal.SIGKILL, LEASE + 5), (signal.SIGTERM, 2.0), (signal.SIGSTOP, LEASE + 5)]
)
async def test_the_upkeep_changes_hands(
    server: PostgresServer,
    database: asyncpg.Connection[asyncpg.Record],
    tmp_path: Path,
    how: signal.Signals,
    within: float,
) -> None:
    """Killed or frozen, it is taken over after its lease; asked to end, it is given back: no duty matters twice."""
    (tmp_path / "jobs.yaml").write_text(LONG)
    with _served(tmp_path, server, "first") as first, _served(tmp_path, server, "second") as second:
        first.start("--apply", "jobs.yaml")
        await asyncio.to_thread(first.wait_for_log, "serve.started")
        async with asyncio.timeout(30):
            while (old := await _holder(database)) is None:
                await asyncio.sleep(0.05)
        second.start()
        await asyncio.to_thread(second.wait_for_log, "serve.started")
        await _until((tmp_path / "beats.txt").exists)
        assert first.process is not None
        first.process.send_signal(how)
        took = await (_seconds_to_resign if how is signal.SIGTERM else _seconds_to_another)(database, old)
        print(f"{how.name}: the upkeep left its holder after {took:.2f} s", file=sys.stderr)
        assert took <= within
        if how is signal.SIGSTOP:
            over = "SELECT count(*) FROM puntual.workers WHERE ended_at IS NOT NULL"
            async with asyncio.timeout(60):
                while not await database.fetchval(over):
                    await asyncio.sleep(0.05)
            first.process.send_signal(signal.SIGCONT)
            await asyncio.to_thread(first.wait_for_log, "worker.lease_over")
        if how is not signal.SIGKILL:
            await asyncio.to_thread(first.stop)
        said = len((tmp_path / "beats.txt").read_text().splitlines())
        await _until(lambda: len((tmp_path / "beats.txt").read_text().splitlines()) > said + 3)
        assert await asyncio.to_thread(second.stop) == 0
    lines = (tmp_path / "beats.txt").read_text().splitlines()
    assert len(set(lines)) == len(lines), "one claim was executed twice"


async def test_a_time_without_the_database_kills_and_doubles_nothing(
    server: PostgresServer, database: asyncpg.Connection[asyncpg.Record], tmp_path: Path
) -> None:
    """For many leases there is no database: long runs go on and end as themselves, and the ticks of it run after it."""
    await database.close()
    (tmp_path / "jobs.yaml").write_text(LONG)
    with ExitStack() as stack:
        fleet = [stack.enter_context(_served(tmp_path, server, f"serve-{n}")) for n in range(3)]
        fleet[0].start("--apply", "jobs.yaml")
        for served in fleet[1:]:
            served.start()
        for served in fleet:
            await asyncio.to_thread(served.wait_for_log, "serve.started")
        assert (await asyncio.to_thread(fleet[0].run, "schedule", "trigger", "long")).returncode == 0
        await _until((tmp_path / "long.txt").exists)
        await _until((tmp_path / "beats.txt").exists)
        await asyncio.to_thread(server.stop, signal.SIGQUIT)
        await asyncio.sleep(AWAY)
        for served in fleet:
            assert served.process is not None
            assert served.process.poll() is None, "a server has ended"
        (tmp_path / "go").touch()
        await _until(lambda: "end" in (tmp_path / "long.txt").read_text())
        await asyncio.to_thread(server.start)
        back = time.time_ns() // 1000
        await _check_beats(server, tmp_path, back)
        for served in fleet:
            assert await asyncio.to_thread(served.stop) == 0
        listed = await asyncio.to_thread(fleet[0].run, "run", "list", "--schedule", "long", "--json")
    runs = json.loads(listed.stdout)["items"]
    assert [(run["state"], run["attempt"]) for run in runs] == [("succeeded", 1)], "what ran was killed or run again"
    assert (tmp_path / "long.txt").read_text().split() == ["start", "end"]


async def _check_beats(server: PostgresServer, folder: Path, back: int) -> None:
    """Every tick up to the return of the database has run, and each claim once."""
    connection = await asyncpg.connect(server.url())
    newest = "SELECT max(tick_at) FROM puntual.run_history WHERE schedule = 'beat' AND state = 'succeeded'"
    async with asyncio.timeout(120):
        while (await connection.fetchval(newest) or 0) < back + 5 * SECOND:
            await asyncio.sleep(0.2)
    rows = await connection.fetch(
        "SELECT tick_number, state FROM puntual.run_history WHERE schedule = 'beat' AND tick_at <= $1", back
    )
    await connection.close()
    assert {row["state"] for row in rows} == {"succeeded"}
    assert sorted(row["tick_number"] for row in rows) == list(range(1, len(rows) + 1))
    assert len(rows) >= AWAY
    lines = (folder / "beats.txt").read_text().splitlines()
    assert len(set(lines)) == len(lines), "one claim was executed twice"
