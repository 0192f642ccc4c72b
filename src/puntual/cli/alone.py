"""A run that was lost twice gets a worker process of its own, one at a time, so that nothing shares its fate."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from types import TracebackType
from typing import Final, Self

import structlog

from puntual.settings import Settings

log = structlog.get_logger("puntual.worker")

#: One that found nothing, or could not start, is not started again at once: starting Python costs half a second.
_PAUSE: Final = 2.0


class Alone:
    """Starts and reaps those processes; leaving it lets the one under way drain.

    Args:
        settings: of this process; the child reads the same environment and file, and is told what the flags said.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending = False

    def start(self) -> None:
        """Starts one, unless one is there."""
        if not self._ending and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run(), name="puntual-alone")

    def end(self) -> None:
        """Asks the one under way to drain, and starts no other."""
        self._ending = True
        if self._task is None:
            return
        if self._process is None or self._process.returncode is not None:
            self._task.cancel()
        else:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        self._process = None
        arguments = [sys.executable, "-m", "puntual", "worker", "--alone", *command_line(self._settings)]
        # Its own group: a Ctrl-C of the terminal is for the parent, which passes it on.
        self._process = await asyncio.create_subprocess_exec(
            *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        log.info("alone.started", pid=self._process.pid)
        code = await self._process.wait()
        log.info("alone.ended", pid=self._process.pid, code=code)
        if not self._ending:
            await asyncio.sleep(_PAUSE)


def command_line(settings: Settings) -> list[str]:
    """What a worker has to be told that its environment and file do not say."""
    said = {"APP": settings.app, "QUEUES": ",".join(settings.queues)}
    return [
        word
        for name, value in said.items()
        if value and settings.sources.get(name) == "the command line"
        for word in (f"--{name.lower()}", value)
    ]
