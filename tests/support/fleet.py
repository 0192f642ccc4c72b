"""Real processes of puntual on one database, and what their tasks wrote down outside of it.

Their tasks are ``note``, which writes its claim into a file and fails as often as it is told to, and ``wait``, which
goes on until a file ``go`` is there.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.served import Served

_MODULE = "jobs"
_NOTED = "noted.txt"
_WAITED = "waited.txt"
TASKS = f"""
import asyncio
import os
from importlib.metadata import version
from pathlib import Path

import puntual

app = puntual.App()
RELEASE = version("puntual")
noted = os.open("{_NOTED}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
waited = os.open("{_WAITED}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@app.task(name="note", max_attempts=100, backoff=puntual.fixed("100ms"))
async def note(run: puntual.Run, tries: int = 1) -> None:
    tick = "-" if run.tick_at is None else run.tick_at.isoformat()
    os.write(noted, f"{{run.id}} {{run.attempt}} {{run.schedule}} {{tick}} {{RELEASE}}\\n".encode())
    if run.attempt < tries:
        raise RuntimeError("once more")


@app.task(name="wait", max_attempts=100, backoff=puntual.fixed("100ms"))
async def wait(run: puntual.Run) -> None:
    os.write(waited, f"{{run.id}} {{run.attempt}} start\\n".encode())
    while not Path("go").exists():
        await asyncio.sleep(0.05)
    os.write(waited, f"{{run.id}} {{run.attempt}} end\\n".encode())
"""


class Member(Served):
    """One of several processes in a folder, with an app and a log of its own.

    Args:
        folder: where all of them work.
        name: of its log.
        outside: environment variables beside those of puntual.
        settings: as for ``Served``.
    """

    def __init__(self, folder: Path, name: str, outside: Mapping[str, str] | None = None, **settings: str) -> None:
        usual = {"APP": f"{_MODULE}:app", "LEASE_TTL": "3s"}
        super().__init__(folder, **{**usual, **settings})
        self.outside = {"PYTHONPATH": str(folder), **(outside or {})}
        self.log = folder / f"{name}.log"

    @property
    def environment(self) -> dict[str, str]:
        """As of ``Served``, with what is beside it."""
        return {**super().environment, **self.outside}

    def work(self, *arguments: str) -> None:
        """Starts it as a worker; returns at once."""
        self.start(*arguments, verb="worker")

    def enqueue(self, task: str) -> str:
        """Asks for a run; gives its id."""
        done = self.run("enqueue", task, "--json")
        assert done.returncode == 0, done
        return str(json.loads(done.stdout)["id"])

    def ask(self, *words: str) -> Any:
        """What a command answers."""
        done = self.run(*words, "--json")
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def lives(self) -> None:
        """It has not ended."""
        assert self.process is not None
        assert self.process.poll() is None, f"{self.log.name}: it has ended"

    def said(self, event: str) -> int:
        """How often its log names an event."""
        return self.log.read_text(errors="replace").count(f'"{event}"')


class Noted(NamedTuple):
    """One execution of ``note``: the claim, the tick it was for, and which release executed it."""

    run_id: str
    attempt: str
    schedule: str
    tick_at: str
    release: str = ""


class Effects:
    """What the tasks of a folder wrote. Makes the module of the tasks, with more of them if there are."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self._folder = folder
        (folder / f"{_MODULE}.py").write_text(TASKS + more)

    def noted(self) -> list[Noted]:
        """Every execution of ``note``, in order; a line that is being written is not one yet."""
        return [Noted(*line.split()) for line in self._text(_NOTED).split("\n")[:-1]]

    def waited(self) -> list[str]:
        """Every start and end of ``wait``: run id, attempt, which."""
        return self._text(_WAITED).splitlines()

    def let_go(self) -> None:
        """Whoever waits may end."""
        (self._folder / "go").touch()

    def check(self) -> None:
        """No claim was executed twice, and no tick by two runs."""
        assert max(Counter(self.waited()).values(), default=1) == 1, "one claim was executed twice"
        runs_of_tick: dict[tuple[str, str], set[str]] = {}
        for one in self.noted():
            if one.tick_at != "-":
                runs_of_tick.setdefault((one.schedule, one.tick_at), set()).add(one.run_id)
        claims = Counter((one.run_id, one.attempt) for one in self.noted())
        assert max(claims.values(), default=1) == 1, "one claim was executed twice"
        assert max(map(len, runs_of_tick.values()), default=1) == 1, "a tick has two runs"

    def _text(self, name: str) -> str:
        path = self._folder / name
        return path.read_text() if path.exists() else ""


async def resumed(what: str, check: Callable[[], object], *, within: float) -> None:
    """Waits until work goes on, with patience, prints how long that took, and holds it to the time stated."""
    began = time.monotonic()
    async with asyncio.timeout(within + 60):
        while not check():  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.02)
    took = time.monotonic() - began
    print(f"{what}: work goes on after {took:.2f} s (stated: {within:g} s)", file=sys.stderr)  # noqa: T201 - a figure
    assert took <= within, what
