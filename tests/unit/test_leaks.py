from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

from tests.support import leaks


def test_a_thread_left_running_is_named() -> None:
    """A leaked thread is reported by its name."""
    before, stop = leaks.held(), threading.Event()
    thread = threading.Thread(target=stop.wait, name="left-behind")
    thread.start()
    found = leaks.leaks_since(before, grace=0.01)
    stop.set()
    thread.join()
    assert found == ["thread 'left-behind' is still running"]


def test_a_thread_that_is_ending_is_no_leak() -> None:
    """What ends by itself within the grace is not reported."""
    before, stop = leaks.held(), threading.Event()
    threading.Thread(target=stop.wait).start()
    stop.set()
    assert leaks.leaks_since(before) == []


def test_an_open_database_is_named(tmp_path: Path) -> None:
    """A connection that was not closed is reported by the path of its file."""
    before = leaks.held()
    connection = sqlite3.connect(tmp_path / "left.db")
    found = leaks.leaks_since(before, grace=0.01)
    connection.close()
    assert len(found) == 1
    assert "left.db is still open" in found[0]


def test_a_child_process_is_named() -> None:
    """A child that was not awaited is reported with its command line."""
    before = leaks.held()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = leaks.leaks_since(before, grace=0.01)
    child.communicate(b"\n")
    assert len(found) == 1
    assert f"child process {child.pid} " in found[0]


async def test_a_pending_task_is_named() -> None:
    """A task that nobody awaits is reported by its name."""
    task = asyncio.create_task(asyncio.Event().wait(), name="left-behind")
    found = await leaks.tasks_left()
    task.cancel()
    assert len(found) == 1
    assert "'left-behind' is still pending" in found[0]
