"""Runs that were lost twice go to a worker process of their own, one at a time, so that nothing shares their fate."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self

import structlog

from puntual.cli.child import Child
from puntual.settings import Settings

log = structlog.get_logger("puntual.worker")

#: Whether it found nothing, failed or never began, no other follows at once: starting Python costs half a second.
_PAUSE: Final = 2.0


class Alone:
    """Starts and reaps those processes; leaving it lets the one under way drain.

    Args:
        settings: of this process; the child reads the same environment and file, and is told what the flags said.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._child: Child | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending = False

    @property
    def busy(self) -> bool:
        """Whether one is under way, or its pause."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Starts one, unless one is there."""
        if not self._ending and not self.busy:
            self._task = asyncio.create_task(self._run(), name="puntual-alone")

    def end(self) -> None:
        """Asks the one under way to drain, and starts no other."""
        self._ending = True
        if self._task is None:
            return
        if self._child is None:
            self._task.cancel()
        else:
            self._child.ask()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            self._child = child = await Child.start(("worker", "--alone", "--aside", *command_line(self._settings)))
        except OSError as error:
            log.warning("alone.not_started", error=str(error))
        else:
            log.info("alone.started", pid=child.pid)
            code = await child.ended()
            self._child = None
            log.info("alone.ended", pid=child.pid, code=code)
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
