"""Finds what a test left behind: threads, tasks, child processes, and descriptors of database files."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import psutil

# What ends by itself may take this long: a pool's thread that saw its sentinel, a child that got its signal.
GRACE_SECONDS = 2.0

DATABASE_NAMES = (".db", ".db-wal", ".db-shm", ".db-journal", ".sqlite", ".lock")

# Python keeps one of each until it exits, once any test has started a process by spawn or forkserver.
PYTHONS_OWN_CHILDREN = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


class Held(NamedTuple):
    """What this process holds at one moment."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]
    files: frozenset[tuple[int, str]]


def held() -> Held:
    """The threads, child processes and database files that this process holds now."""
    return Held(frozenset(threading.enumerate()), _children(), _database_files())


def leaks_since(before: Held, grace: float = GRACE_SECONDS) -> list[str]:
    """A sentence for each thing held now that was not held before, after ``grace`` seconds for what is ending."""
    threads = [thread for thread in threading.enumerate() if thread not in before.threads]
    for thread in threads:
        thread.join(grace)
    found = [f"thread {thread.name!r} is still running" for thread in threads if thread.is_alive()]
    found += [f"child process {text} was not awaited" for text in _living(_children() - before.children, grace)]
    files = sorted(_database_files() - before.files)
    found += [f"descriptor {number} of {path} is still open" for number, path in files]
    return found


async def tasks_left(turns: int = 20) -> list[str]:
    """A sentence for each asyncio task but ours that does not end within that many turns of the loop."""
    for _ in range(turns):
        if not _other_tasks():
            return []
        await asyncio.sleep(0)
    return [f"task {task.get_name()!r} is still pending: {task.get_coro()!r}" for task in _other_tasks()]


def _other_tasks() -> list[asyncio.Task[object]]:
    ours = asyncio.current_task()
    return [task for task in asyncio.all_tasks() if task is not ours]


def _living(children: frozenset[int], grace: float) -> list[str]:
    """Each child still there after ``grace``; one that ended but that nobody awaited is a leak too."""
    named = {number: text for number in sorted(children) if (text := _command(number)) is not None}
    pause, rounds = threading.Event(), 40
    for _ in range(rounds):
        if not named.keys() & _children():
            return []
        pause.wait(grace / rounds)
    left = _children()
    return [f"{number} ({text})" for number, text in named.items() if number in left]


def _command(number: int) -> str | None:
    """The command line of a child that is the test's own, None for one that ended or is Python's."""
    try:
        process = psutil.Process(number)
        text = " ".join(process.cmdline()) or f"{process.name()}, {process.status()}"
    except psutil.NoSuchProcess:
        return None
    return None if any(name in text for name in PYTHONS_OWN_CHILDREN) else text


def _children() -> frozenset[int]:
    if sys.platform == "linux":
        lists = Path("/proc/self/task").glob("*/children")
        try:
            return frozenset(int(number) for path in lists for number in path.read_text(encoding="ascii").split())
        except OSError:
            # A thread ended between the listing and the reading.
            pass
    return frozenset(process.pid for process in psutil.Process().children())


def _database_files() -> frozenset[tuple[int, str]]:
    if sys.platform == "linux":
        opened = [(int(entry.name), path) for entry in Path("/proc/self/fd").iterdir() if (path := _target(entry))]
    else:
        opened = [(file.fd, file.path) for file in psutil.Process().open_files()]
    return frozenset((number, path) for number, path in opened if path.endswith(DATABASE_NAMES))


def _target(descriptor: Path) -> str:
    """The file behind a descriptor, or nothing when it is closed by now, as the one that lists them always is."""
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""
