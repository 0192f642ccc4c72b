"""A server that is frozen for longer than its lease and goes on: nothing it holds is charged or done twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.served import Served

FROZEN = float(os.environ.get("FAULT_FROZEN", "6"))
MANIFEST = """
schedules:
  long:
    when: "@yearly"
    command: [/bin/sh, -c, 'echo "$PUNTUAL_ATTEMPT start" >> long.txt; while [ ! -e go ]; do sleep 0.1; done;
      echo "$PUNTUAL_ATTEMPT end" >> long.txt']
RETRY
"""


@pytest.mark.fault
@pytest.mark.timeout(200)
async def test_the_only_server_frozen_past_its_lease_goes_on(tmp_path: Path) -> None:
    """Nobody took its lease, so what ran meanwhile is its own still: one start, one end, attempt 1."""
    (tmp_path / "jobs.yaml").write_text(MANIFEST.replace("RETRY", ""))
    with Served(tmp_path, ALLOW_COMMANDS="/bin/sh", LEASE_TTL="1s") as served:
        served.start("--apply", "jobs.yaml")
        served.wait_for_log("serve.started")
        assert served.run("schedule", "trigger", "long").returncode == 0
        await _until((tmp_path / "long.txt").exists)
        # Long enough for rescue to have the right to end leases.
        await asyncio.sleep(3)
        assert served.process is not None
        for _ in range(3):
            served.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(FROZEN / 3)
            served.process.send_signal(signal.SIGCONT)
            await asyncio.sleep(1)
        (tmp_path / "go").touch()
        await _until(lambda: "end" in (tmp_path / "long.txt").read_text())
        await _until(lambda: _run(served)["state"] == "succeeded")
        assert served.stop() == 0
    assert (tmp_path / "long.txt").read_text().splitlines() == ["1 start", "1 end"]


@pytest.mark.fault
@pytest.mark.timeout(200)
async def test_a_worker_frozen_past_its_lease_records_nothing_over_its_successor(tmp_path: Path) -> None:
    """Another takes over within the lease and a few seconds; the one that wakes drops what it held and joins anew."""
    (tmp_path / "jobs.yaml").write_text(MANIFEST.replace("RETRY", "    retry: {max_attempts: 5, delay: 100ms}"))
    with Served(tmp_path, ALLOW_COMMANDS="/bin/sh", LEASE_TTL="1s") as first:
        first.start("--apply", "jobs.yaml")
        first.wait_for_log("serve.started")
        assert first.run("schedule", "trigger", "long").returncode == 0
        await _until((tmp_path / "long.txt").exists)
        with Served(tmp_path, ALLOW_COMMANDS="/bin/sh", LEASE_TTL="1s") as second:
            second.log = tmp_path / "second.log"
            second.start()
            second.wait_for_log("serve.started")
            assert first.process is not None
            first.process.send_signal(signal.SIGSTOP)
            await _until(lambda: "2 start" in (tmp_path / "long.txt").read_text())
            first.process.send_signal(signal.SIGCONT)
            first.wait_for_log("worker.lease_over")
            (tmp_path / "go").touch()
            await _until(lambda: _run(second)["state"] == "succeeded")
            assert second.stop() == 0
        assert first.stop() == 0
        run = _run(first)
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["lost", "succeeded"]
    said = Counter((tmp_path / "long.txt").read_text().splitlines())
    assert said["2 end"] == 1
    assert max(said.values()) == 1


def _run(served: Served) -> dict[str, Any]:
    listed = json.loads(served.run("run", "list", "--schedule", "long", "--json").stdout)["items"]
    return dict(json.loads(served.run("run", "show", listed[0]["id"], "--json").stdout))


async def _until(check: object, seconds: float = 60) -> None:
    assert callable(check)
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.1)
