"""Watching real processes from a test: who they are, and that they end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]


class Note:
    """A FIFO into which a process under test writes process numbers; reading it waits for them.

    Args:
        folder: where the FIFO ``note`` is made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "note"
        os.mkfifo(self.path)

    async def processes(self) -> list[psutil.Process]:
        """The processes noted, once they are."""
        text = await asyncio.to_thread(self.path.read_text, encoding="ascii")
        return [psutil.Process(int(number)) for number in text.split()]


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of them end within a few seconds; one that nobody awaits yet has ended."""
    pause = threading.Event()
    for _ in range(500):
        if all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes):
            return True
        pause.wait(0.01)
    return False


async def shell(line: str, folder: Path) -> None:
    """Does something in a folder, as an operator would; to a database of ours it has to be another process.

    Whoever opens and closes a file of SQLite gives up the locks that his process has on it.
    """
    await asyncio.to_thread(subprocess.run, ["/bin/sh", "-c", line], check=True, cwd=folder)


@contextmanager
def python(program: str, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program in a process of its own, from the root of the repository; killed and awaited at the end."""
    process = subprocess.Popen([sys.executable, "-c", program, *args], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
