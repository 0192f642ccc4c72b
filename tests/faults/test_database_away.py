"""The database is out of reach for many leases under a running server: nothing exits, and late ticks run."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from puntual import App
from puntual.model.schedule import Fate
from puntual.settings import Settings
from puntual.store.requests import Page, TickFilter
from tests.support.served import Served

AWAY = float(os.environ.get("FAULT_AWAY", "15"))
SECOND = 1_000_000
MANIFEST = """
schedules:
  beat:
    every: 1s
    command: [/bin/sh, -c, 'echo "$PUNTUAL_RUN_ID $PUNTUAL_ATTEMPT" >> beats.txt']
    retry: {max_attempts: 10, delay: 100ms}
    misfire_policy: fire_all
    overlap: allow_all
  long:
    when: "@yearly"
    command: [/bin/sh, -c, 'echo start >> long.txt; while [ ! -e go ]; do sleep 0.1; done; echo end >> long.txt']
"""


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Nobody else can write, nor begin to read anew, meanwhile."""
    connection = sqlite3.connect(database, timeout=30, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@pytest.mark.fault
@pytest.mark.timeout(400)
async def test_a_time_without_the_database(tmp_path: Path) -> None:
    """For several leases nothing can be written; what runs goes on, and afterwards every tick has run, each once."""
    (tmp_path / "jobs.yaml").write_text(MANIFEST)
    with Served(tmp_path, ALLOW_COMMANDS="/bin/sh", LEASE_TTL="2s") as served:
        served.start("--apply", "jobs.yaml")
        served.wait_for_log("serve.started")
        assert served.run("schedule", "trigger", "long").returncode == 0
        await _until((tmp_path / "long.txt").exists)
        await _until((tmp_path / "beats.txt").exists)
        with locked(tmp_path / "puntual.db"):
            await asyncio.sleep(AWAY)
            assert served.process is not None
            assert served.process.poll() is None, "the server has ended"
            (tmp_path / "go").touch()
            await _until(lambda: "end" in (tmp_path / "long.txt").read_text())
        back = time.time_ns() // 1000
        await _check(tmp_path, back)
        assert served.stop() == 0
    runs = json.loads(served.run("run", "list", "--schedule", "long", "--json").stdout)["items"]
    assert [(run["state"], run["attempt"]) for run in runs] == [("succeeded", 1)], "what ran was killed or run again"
    assert (tmp_path / "long.txt").read_text().split() == ["start", "end"]


async def _check(folder: Path, back: int) -> None:
    async with App(Settings(database_url=f"sqlite:///{folder}/puntual.db")) as app:
        while True:
            ticks = await app.schedules.ticks(TickFilter(schedule="beat"), Page(limit=1000))
            if any(tick.tick_at > back + 5 * SECOND and tick.fate is Fate.RAN for tick in ticks):
                break
            await asyncio.sleep(0.2)
        past = sorted((tick for tick in ticks if tick.tick_at <= back), key=lambda tick: tick.number)
        assert [tick.number for tick in past] == list(range(1, len(past) + 1))
        assert {tick.fate for tick in past} == {Fate.RAN}
        assert len(past) >= AWAY
        for tick in past:
            assert tick.run_id is not None
            await app.runs.finished(tick.run_id, timeout="60s")
        lines = (folder / "beats.txt").read_text().split("\n")[:-1]
        assert len(set(lines)) == len(lines), "one claim was executed twice"


async def _until(check: object, seconds: float = 60) -> None:
    assert callable(check)
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.05)
