"""A process that works until it is asked to stop, then drains, and ends at once when it is asked twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType

import click
import structlog

from puntual import logs
from puntual.app import App
from puntual.cli.alone import Alone
from puntual.cli.loading import load_app
from puntual.cli.session import Session
from puntual.cli.words import listed, plural, spell
from puntual.engine.held import Stage
from puntual.settings import Settings

log = structlog.get_logger("puntual.process")

#: What a drain needs beyond its grace: attempts have 5 s to stop, and what became of them is written. Seconds.
_MARGIN = 12.0


class Stop:
    """The wish to end: the first signal asks for it, the second takes it, and so does time if the first is not heard.

    The handlers are the interpreter's own and not the loop's, so that one that blocks the loop cannot hold them up.

    Args:
        grace: how long a drain may take, seconds.
    """

    def __init__(self, grace: float) -> None:
        self.asked = asyncio.Event()
        self._limit = grace + _MARGIN
        self._taken = False

    def listen(self) -> None:
        """Takes SIGTERM and SIGINT from now on."""
        loop = asyncio.get_running_loop()

        def heard(number: int, _frame: FrameType | None) -> None:
            if self._taken:
                # Nothing is lost by this: what was running is for rescue to find.
                os._exit(128 + number)
            self._taken = True
            last = threading.Timer(self._limit, os._exit, [128 + number])
            last.daemon = True
            last.start()
            loop.call_soon_threadsafe(self.asked.set)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, heard)


@asynccontextmanager
async def node(app: App, roles: Sequence[str], settings: Settings) -> AsyncIterator[App]:
    """The engine in this process; runs that were lost twice get a process of their own. Leaving it drains."""
    async with Alone(settings) as alone, app.running(roles=roles, alone=alone.start):
        yield app
        alone.end()
        _say_what_is_waited_for(app, settings)


async def until(stop: Stop, *others: Awaitable[object]) -> None:
    """Waits for the wish to end, or for one of the others to be over; raises what that raised."""
    waits = [asyncio.ensure_future(wait) for wait in (stop.asked.wait(), *others)]
    try:
        over, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in over:
            wait.result()
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


def start(session: Session, settings: Settings) -> App:
    """Sets up the logs and loads the app of a process that serves or works.

    Raises:
        InvalidSettingError: the app cannot be loaded.
    """
    logs.configure(settings)
    for warning in settings.warnings:
        log.warning("settings.ignored", text=warning)
    session.keep_stdout()
    app = load_app(settings)
    app.configure(settings)
    return app


def roles_of(settings: Settings) -> tuple[str, ...]:
    """The roles that the engine has; the API is not one of them."""
    return tuple(role for role in settings.roles if role != "api")


def database_of(settings: Settings) -> str:
    """Where the data is."""
    return str(Path(settings.database_path).absolute())


def _say_what_is_waited_for(app: App, settings: Settings) -> None:
    held = [] if app.node is None else [hold.run.id for hold in app.node.held if hold.stage is Stage.STARTED]
    if held:
        grace = spell(settings.shutdown_grace_us)
        click.echo(f"Stopping: waiting at most {grace} for {plural(len(held), 'run')} ({listed(held)}).", err=True)
        click.echo("Once more ends it at once; what runs is then tried again later.", err=True)
    sys.stderr.flush()
