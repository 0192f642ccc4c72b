"""``puntual serve``: the whole product in one process, which says where its data, its token and its address are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import click
import msgspec
import structlog

from puntual import logs
from puntual.api import ensure_first_token, serve_api
from puntual.cli.apply import texts_of
from puntual.cli.loading import load_app
from puntual.cli.options import Command
from puntual.cli.process import Stop, node, roles_of, run_loop, until
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, when
from puntual.operations.local import LocalOperations
from puntual.settings import Settings

log = structlog.get_logger("puntual.serve")


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself when it is up; ``next`` are its first fires."""

    api: str | None
    database: str
    token_file: str | None
    roles: tuple[str, ...]
    schedules: int
    next: list[dict[str, Any]]


@click.command(cls=Command)
@click.option("--app", metavar="MODULE:APP", help="The App whose tasks and schedules to serve.")
@click.option(
    "--apply", "apply_files", multiple=True, metavar="FILE", help="Apply these manifests first (FILE... or repeatable)."
)
@click.option("--roles", metavar="ROLES", help="Some of api,scheduler,worker [default: all].")
@click.option("--host", metavar="ADDRESS", help="Where the API listens [default: 127.0.0.1].")
@click.option("--port", metavar="PORT", help="Its port; 0 takes a free one [default: 8787].")
@click.argument("more_files", nargs=-1, metavar="")
@click.pass_obj
def serve(session: Session, /, apply_files: tuple[str, ...], more_files: tuple[str, ...], **said: str | None) -> None:
    """Serve the API, plan schedules and execute runs, all in this process."""
    if more_files and not apply_files:
        raise click.UsageError(
            f"{more_files[0]!r} is no option: manifests come after --apply.", click.get_current_context()
        )
    settings = session.settings_with(said)
    logs.configure(settings)
    for warning in settings.warnings:
        log.warning("settings.ignored", text=warning)
    app = load_app(settings)
    app.configure(settings)
    run_loop(_serve(session, app, settings, [*apply_files, *more_files]))


async def _serve(session: Session, app: Any, settings: Settings, files: Sequence[str]) -> None:  # noqa: ANN401 - an App
    stop = Stop()
    stop.listen()
    operations = LocalOperations(app)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        if files:
            await operations.apply(texts_of(files), dry_run=False, prune=False, take=False)
        token_file = str(_beside(settings, "puntual.token").absolute())
        await ensure_first_token(app, token_file)
        await stack.enter_async_context(node(app, roles_of(settings), settings))
        api = None
        if "api" in settings.roles:
            port = await stack.enter_async_context(serve_api(app, operations, settings.host, settings.port))
            api = f"http://{_in_url(settings.host)}:{port}"
        _announce(session, settings, await _started(operations, settings, api, token_file))
        await until(stop)


async def _started(operations: LocalOperations, settings: Settings, api: str | None, token_file: str) -> Started:
    schedules = (await operations.list_schedules({"limit": 1000}))["items"]
    coming = sorted((item for item in schedules if item.get("next_due_at")), key=lambda item: str(item["next_due_at"]))
    return Started(
        api=api,
        database=str(Path(settings.database_path).absolute()),
        token_file=token_file if api and Path(token_file).exists() else None,
        roles=settings.roles,
        schedules=len(schedules),
        next=[{"schedule": item["name"], "due_at": item["next_due_at"]} for item in coming[:3]],
    )


def _announce(session: Session, settings: Settings, started: Started) -> None:
    """The banner for people; the same as one JSON document, or as one line of the JSON log."""
    facts = msgspec.to_builtins(started)
    if session.as_json:
        session.print_json(facts)
    elif settings.log_format == "json":
        log.info("serve.started", **facts)
    else:
        _banner(session, settings, started)


def _banner(session: Session, settings: Settings, started: Started) -> None:
    from puntual.app import VERSION

    coming = [f"{clean(item['schedule'], 40)} {when(item['due_at'], session.now)}" for item in started.next]
    rows = {
        "API": started.api,
        "token": started.token_file and f"in {started.token_file}",
        "data": started.database,
        "roles": ", ".join(started.roles),
        "next": listed(coming) if coming else _NOTHING,
        "commands": None if settings.allow_commands else "off (PUNTUAL_ALLOW_COMMANDS lets schedules run programs)",
    }
    click.secho(f"puntual {VERSION} is running. Ctrl-C stops it.", bold=True)
    for name, value in rows.items():
        if value:
            click.echo(f"  {name:<9} {value}")


_NOTHING = "nothing is scheduled; try: puntual schedule add hello --when '* * * * *' --url https://example.com/"


def _beside(settings: Settings, name: str) -> Path:
    return Path(settings.database_path).parent / name


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
