"""A server from its first migration to its last run; it says where its address, its token and its data are."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import click
import msgspec
import structlog

from puntual.app import VERSION, App
from puntual.cli.activity import told
from puntual.cli.apply import texts_of
from puntual.cli.exhausted import Exhausted
from puntual.cli.process import database_of, is_up, node, roles_of
from puntual.cli.session import Session
from puntual.cli.stop import Stop, first_of
from puntual.cli.words import clean, listed, when
from puntual.operations.local import LocalOperations
from puntual.operations.local.apply import apply
from puntual.operations.local.changes import Asked
from puntual.settings import Settings, shown_url

log = structlog.get_logger("puntual.serve")

_NOTHING: Final = "nothing is scheduled; try: puntual schedule add hello --when '* * * * *' --url https://example.com/"


_HOW_TO_MAKE_ONE: Final = "puntual token create --scope admin makes one, if there is none"

#: What says where the data is.
_WHERE: Final = ("PUNTUAL_CONFIG", "PUNTUAL_DATABASE_URL", "PUNTUAL_DATABASE_URL_FILE")


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself when it is up; ``next`` are its first fires."""

    api: str | None
    token_file: str | None
    database: str
    roles: tuple[str, ...]
    schedules: int
    next: list[dict[str, Any]]


async def serve_until_stopped(session: Session, app: App, settings: Settings, files: Sequence[str]) -> None:
    """Serves until asked to stop, then drains. A process without the API ends too when its worker was drained."""
    stop = Stop(app.settings.shutdown_grace_us / 1_000_000)
    stop.listen(session.member)
    operations = LocalOperations(app)
    exhausted = Exhausted(stop.limit)
    waits: list[Callable[[], Awaitable[object]]] = [stop.asked.wait, exhausted.wait]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        # First, because a port that is taken must be found before anything is written or started; so it also answers
        # for as long as runs are being drained.
        api = await _api(stack, operations, app, settings) if "api" in settings.roles else None
        if files:
            await _apply(app, files)
        if roles_of(settings):
            drained = await stack.enter_async_context(node(app, roles_of(settings), settings))
            await stack.enter_async_context(told(app))
            waits += [drained] if api is None else []
        started = await _started(operations, settings, api)
        facts = _facts(settings, started)
        is_up(
            session,
            settings,
            app,
            lambda: log.info("serve.started", **facts),
            lambda: _show(session, settings, started),
        )
        await first_of(*(wait() for wait in waits))
        log.info("serve.stopping")
    exhausted.end()


async def _apply(app: App, files: Sequence[str]) -> None:
    """Writes the manifests; that no worker is alive yet is no warning here, since this process is about to be one."""
    reply, _ = await apply(app, texts_of(files), Asked(dry_run=False, prune=False, take=False))
    for warning in reply["warnings"]:
        log.warning("apply.warning", text=warning)


async def _api(stack: AsyncExitStack, operations: LocalOperations, app: App, settings: Settings) -> str:
    from puntual.api import ensure_first_token, serve_api

    if (token_file := _token_file(settings)) is not None:
        await ensure_first_token(app, token_file)
    port = await stack.enter_async_context(serve_api(app, operations, settings.host, settings.port))
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}"


def _token_file(settings: Settings) -> str | None:
    """Beside the SQLite file; a database of PostgreSQL lies beside nothing of ours."""
    return None if settings.on_postgres else str(Path(settings.database_path).absolute().with_name("puntual.token"))


async def _started(operations: LocalOperations, settings: Settings, api: str | None) -> Started:
    schedules = (await operations.list_schedules({"limit": 1000}))["items"]
    coming = sorted((item["next_due_at"], item["name"]) for item in schedules if item["next_due_at"])
    return Started(
        api=api,
        token_file=None if api is None else _token_file(settings),
        database=database_of(settings),
        roles=settings.roles,
        schedules=len(schedules),
        next=[{"schedule": name, "due_at": due_at} for due_at, name in coming[:3]],
    )


def _facts(settings: Settings, started: Started) -> dict[str, Any]:
    """What the log tells: people read the first fires as words."""
    facts: dict[str, Any] = msgspec.to_builtins(started)
    if settings.log_format != "json":
        facts["next"] = [f"{item['schedule']} at {item['due_at']}" for item in started.next] or None
    return facts


def _show(session: Session, settings: Settings, started: Started) -> None:
    """Tells people; or the same as the one JSON document."""
    if session.as_json:
        session.print_json(msgspec.to_builtins(started))
    else:
        _banner(session, settings, started)


def _puntual() -> str:
    """How the same program is called on the same data from another shell in this folder."""
    program = Path(sys.argv[0])
    if program.name != "puntual":
        words = [sys.executable, "-m", "puntual"]
    elif (found := shutil.which("puntual")) is not None and Path(found).samefile(program):
        words = ["puntual"]
    else:
        inside = program.is_absolute() and program.is_relative_to(Path.cwd())
        words = [str(program.relative_to(Path.cwd()) if inside else program)]
    told = {name: value for name in _WHERE if (value := os.environ.get(name)) and shown_url(value) == value}
    said = [f"{name}={shlex.quote(value)}" for name, value in told.items()]
    return " ".join([*said, shlex.join(words)])


def _banner(session: Session, settings: Settings, started: Started) -> None:
    coming = [f"{clean(item['schedule'], 40)} {when(item['due_at'], session.now)}" for item in started.next]
    rows = {
        "API": started.api,
        "token": f"in {started.token_file}" if started.token_file else started.api and _HOW_TO_MAKE_ONE,
        "data": started.database,
        "roles": ", ".join(started.roles),
        "next": listed(coming) if coming else _NOTHING,
        "look": f"{_puntual()} status",
        "commands": None if settings.allow_commands else "off (PUNTUAL_ALLOW_COMMANDS lets schedules run programs)",
    }
    click.secho(f"puntual {VERSION} is running. Ctrl-C stops it.", bold=True)
    for name, value in rows.items():
        if value:
            click.echo(f"  {name:<9} {value}")
    # Whoever starts us through a pipe waits for these lines.
    sys.stdout.flush()
