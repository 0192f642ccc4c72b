"""A small app for tests of isolated functions: a child process imports this file by its name."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

from puntual.model.handle import Run, current_run
from puntual.model.task import TaskRegistry

registry = TaskRegistry()


@registry.task(name="double", isolation="process")
def double(number: int, when: datetime | None = None) -> list[object]:
    """Returns twice the number, what kind of thing it was given, and where it ran."""
    return [2 * number, type(when).__name__, os.getpid()]


@registry.task(name="follow", isolation="process")
def follow(run: Run, number: int) -> str:
    """Asks for a follow-up and tells whose run this is."""
    run.then(double.call(number))
    return current_run().id


@registry.task(name="noisy", isolation="process")
def noisy() -> str:
    """Reads and writes the standard streams as it likes."""
    print("said", file=sys.stdout)  # noqa: T201 - what the test is about
    os.write(1, b"written\n")
    return sys.stdin.read()


@registry.task(name="fail", isolation="process")
def fail(how: str) -> None:
    """Ends badly in one of several ways."""
    if how == "lambda":

        class Local(Exception):
            def __reduce__(self) -> str:
                raise TypeError

        raise Local("cannot be pickled")
    if how == "exit":
        raise SystemExit(3)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "crash":
        ctypes.string_at(0)
    if how == "gone":
        os._exit(7)


@registry.task(name="meet", isolation="process")
def meet(place: str) -> str:
    """Tells a socket that it has come, and waits until that answers."""
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(place)
        return door.recv(16).decode()


@registry.task(name="hang", isolation="process")
def hang(note: str) -> None:
    """Starts a child that ignores SIGTERM, notes both process numbers, and never ends."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["/bin/sh", "-c", "trap '' TERM; while :; do sleep 60; done"])
    Path(note).write_text(f"{os.getpid()} {child.pid}", encoding="ascii")
    threading.Event().wait()
