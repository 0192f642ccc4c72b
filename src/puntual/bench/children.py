"""Processes that are measured or that measure: started, spoken to by lines, and always ended."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

_PATIENCE = 20.0


class Process:
    """A child process; leaving it ends it.

    Args:
        arguments: what to start.
        cwd: the folder to start it in.
        environment: all that it gets.
    """

    def __init__(self, arguments: list[str], *, cwd: Path | None = None, environment: dict[str, str]) -> None:
        self._arguments = arguments
        self._cwd = cwd
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    @property
    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None
        return self._process

    @property
    def pid(self) -> int:
        """Its number."""
        return self._running.pid

    def alive(self) -> bool:
        """True; raises if it has ended by itself."""
        if self._running.returncode is not None:
            raise RuntimeError(f"{' '.join(self._arguments)} ended with {self._running.returncode}")
        return True

    async def read(self) -> str:
        """The next line that it says."""
        assert self._running.stdout is not None
        line = await self._running.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self._arguments)} ended without an answer")
        return line.decode().strip()

    async def read_json(self) -> dict[str, Any]:
        """The next JSON object that it says, over as many lines as that takes."""
        text = ""
        while True:
            text += await self.read()
            with suppress(msgspec.DecodeError):
                return msgspec.json.decode(text, type=dict[str, Any])

    def say(self, line: str) -> None:
        """Tells it something."""
        assert self._running.stdin is not None
        self._running.stdin.write(f"{line}\n".encode())

    async def __aenter__(self) -> Self:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._arguments, stdin=pipe, stdout=pipe, cwd=self._cwd, env=self._environment
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._running
        with suppress(ProcessLookupError):
            self._ask_to_end(process)
        try:
            # With an input, which this is, what it reads is then closed: a child of ours hears by it that it is over.
            await asyncio.wait_for(process.communicate(b""), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _ask_to_end(self, process: asyncio.subprocess.Process) -> None:
        """Says that it is over."""


class Child(Process):
    """One of ``puntual.bench.child``, told what to do by a line of JSON."""

    def __init__(self, kind: str, **how: str | int) -> None:
        order = msgspec.json.encode({"kind": kind, **how}).decode()
        super().__init__([sys.executable, "-m", "puntual.bench.child", order], environment=_clean())


class Program(Process):
    """The program itself, in an environment without settings but for its database."""

    def __init__(self, folder: Path, database_url: str, *arguments: str) -> None:
        environment = {**_clean(), "PUNTUAL_DATABASE_URL": database_url, "PUNTUAL_LOG_LEVEL": "error"}
        super().__init__([sys.executable, "-m", "puntual", *arguments], cwd=folder, environment=environment)

    def _ask_to_end(self, process: asyncio.subprocess.Process) -> None:
        process.terminate()


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PUNTUAL_")}
