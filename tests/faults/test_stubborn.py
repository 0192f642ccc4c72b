"""Handlers that ignore being stopped, or block the loop, do not keep a server from ending."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.served import Served

APP = """
import asyncio, pathlib, puntual
app = puntual.App()

@app.task(name="ignore", max_attempts=2)
async def ignore():
    pathlib.Path("began").touch()
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass

@app.task(name="spin", max_attempts=2)
async def spin():
    pathlib.Path("began").touch()
    while True:
        pass
"""


@pytest.mark.fault
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("task", "signals"), [("ignore", 1), ("ignore", 2), ("spin", 2)])
def test_a_stubborn_handler_does_not_keep_the_server(task: str, signals: int, tmp_path: Path) -> None:
    """The first signal ends it after the grace, the second at once; the run is not lost, and not running any more."""
    (tmp_path / "stubborn.py").write_text(APP)
    with Served(tmp_path, SHUTDOWN_GRACE="1s", APP="stubborn:app") as served:
        served.start()
        served.wait_for_log("serve.started")
        assert served.run("enqueue", task).returncode == 0
        deadline = time.monotonic() + 30
        while not (tmp_path / "began").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert served.process is not None
        for _ in range(signals):
            os.kill(served.process.pid, signal.SIGTERM)
            time.sleep(0.5)
        code = served.process.wait(60)
    assert code == (0 if signals == 1 else 128 + signal.SIGTERM)
    with Served(tmp_path) as asked:
        listed = asked.run("run", "list", "--json").stdout
    assert ('"state":"pending"' if signals == 1 else '"state":"running"') in listed.replace(" ", "")
