"""A process that serves or works: its logs, its app, its engine; when it is up, and when it has been drained."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

import click
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from puntual import logs
from puntual.app import App
from puntual.cli.alone import Alone
from puntual.cli.loading import load_app
from puntual.cli.member import DONE, UP
from puntual.cli.session import Session
from puntual.cli.words import listed, plural, spell
from puntual.engine.held import Stage
from puntual.settings import Settings

log = structlog.get_logger("puntual.process")

Drained: TypeAlias = Callable[[], Awaitable[None]]

#: How often a drained worker looks whether it is done. Seconds.
_LOOK = 0.2
#: How many files a process asks to be allowed: no more than that is needed, and large tables cost.
_FILES: Final = 65_536


@asynccontextmanager
async def node(app: App, roles: Sequence[str], settings: Settings) -> AsyncIterator[Drained]:
    """The engine in this process; runs that were lost twice get a process of their own. Leaving it drains.

    What it gives waits until somebody has drained this worker (``puntual worker drain``) and it holds nothing more,
    however long that takes.
    """
    async with Alone(settings) as alone, app.running(roles=roles, alone=alone.start):
        yield lambda: _drained(app, alone)
        alone.end()
        _say_what_is_waited_for(app, settings)


async def _drained(app: App, alone: Alone) -> None:
    engine = app.node
    assert engine is not None
    claimer = engine.claimer
    await engine.membership.asked_to_drain.wait()
    log.info("worker.draining", worker=engine.membership.worker, held=len(engine.held))
    while claimer.in_flight or not engine.idle() or alone.busy:  # noqa: ASYNC110 - several things end, and none says so
        await asyncio.sleep(_LOOK)


def run(session: Session, settings: Settings, main: Callable[[App], Coroutine[Any, Any, None]]) -> None:
    """Runs an app's process to its end, with its logs set up and the app loaded.

    Raises:
        InvalidSettingError: the app cannot be loaded.
    """
    from puntual.engine.process import run_loop

    member = session.member
    allow_files()
    logs.configure(settings)
    for warning in settings.warnings if member is None or not member.aside else ():
        log.warning("settings.ignored", text=warning)
    session.keep_stdout()
    app = load_app(settings)
    app.configure(settings)
    if member is not None:
        structlog.configure(processors=[_naming(app), *structlog.get_config()["processors"]])

    async def whole() -> None:
        await main(app)
        if member is not None:
            member.tell(DONE)

    run_loop(whole())


def allow_files() -> None:
    """Lifts the limit of open files to what the system grants: the usual 1,024 suit programs that use `select`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _naming(app: App) -> Processor:
    """Where several processes write into one log, each line says whose it is."""

    def name(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        if app.node is None:
            event.setdefault("pid", os.getpid())
        else:
            event.setdefault("worker", app.node.membership.worker)
        return event

    return name


def is_up(session: Session, settings: Settings, app: App, log_it: Callable[[], None], show: Callable[[], None]) -> None:
    """Tells a supervisor that this process works, and everybody else: in the log, or as ``show`` does."""
    member = session.member
    if member is not None:
        member.tell(UP, app.settings.shutdown_grace_us / 1_000_000)
    if (member is not None and member.aside) or (settings.log_format == "json" and not session.as_json):
        log_it()
    else:
        show()


def roles_of(settings: Settings) -> tuple[str, ...]:
    """The roles that the engine has; the API is not one of them."""
    return tuple(role for role in settings.roles if role != "api")


def database_of(settings: Settings) -> str:
    """Where the data is, without a password."""
    return settings.shown_database


def _say_what_is_waited_for(app: App, settings: Settings) -> None:
    held = [] if app.node is None else [hold.run.id for hold in app.node.held if hold.stage is Stage.STARTED]
    if held:
        grace = spell(settings.shutdown_grace_us)
        click.echo(f"Stopping: waiting at most {grace} for {plural(len(held), 'run')} ({listed(held)}).", err=True)
        click.echo("Once more ends it at once; what runs is then tried again later.", err=True)
    sys.stderr.flush()
