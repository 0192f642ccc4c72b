"""``puntual worker`` and ``puntual scheduler``: the engine without an API; and the workers that there are."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import click

from puntual.cli.options import Command, Group
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, plural, when
from puntual.model.duration import parse_duration
from puntual.model.errors import InvalidError
from puntual.settings import Settings


@click.group(cls=Group, invoke_without_command=True)
@click.option("--app", metavar="MODULE:APP", help="The App whose tasks to execute [default: http and commands only].")
@click.option("--queues", metavar="A,B", help="Only these queues [default: all].")
@click.option("--concurrency", metavar="N", help="How many runs at once [default: 100].")
@click.option("--once", is_flag=True, help="Execute what is due now, and exit.")
@click.option("--older-than", metavar="D", help="With --once: only what has been due for this long.")
@click.option("--max-runs", type=click.IntRange(1), metavar="N", help="With --once: at most this many.")
@click.option("--for", "longest", metavar="D", help="With --once: take nothing more after this time.")
@click.option("--alone", is_flag=True, hidden=True, help="Execute one run that was lost twice, and exit.")
@click.pass_context
def worker(ctx: click.Context, /, app: str | None, queues: str | None, concurrency: str | None, **how: Any) -> None:  # noqa: ANN401 - flags, texts and numbers
    """Claim and execute runs; or list and drain workers."""
    if ctx.invoked_subcommand is not None:
        return
    from puntual.cli.working import Limits, work, work_once

    session = ctx.ensure_object(Session)
    settings = session.settings_with({"APP": app, "QUEUES": queues, "CONCURRENCY": concurrency})
    limits = Limits(
        older_us=_microseconds(how["older_than"], "--older-than"),
        most=1 if how["alone"] else how["max_runs"],
        longest_us=_microseconds(how["longest"], "--for") if how["longest"] else None,
        alone=how["alone"],
    )
    if how["once"] or how["alone"]:
        _start(session, settings, lambda loaded: work_once(session, loaded, limits))
    elif limits != Limits():
        raise click.UsageError("--older-than, --max-runs and --for need --once.", ctx)
    else:
        _start(session, settings, lambda loaded: work(session, loaded, settings, ("worker",)))


@click.command(cls=Command)
@click.option("--app", metavar="MODULE:APP", help="The App whose schedules to write and plan.")
@click.pass_obj
def scheduler(session: Session, /, app: str | None) -> None:
    """Plan schedules and look after the database, without executing runs."""
    from puntual.cli.working import work

    settings = session.settings_with({"APP": app})
    _start(session, settings, lambda loaded: work(session, loaded, settings, ("scheduler",)))


@worker.command("list")
@click.pass_obj
def list_workers(session: Session) -> None:
    """List the workers that live."""
    reply = session.work(lambda operations: operations.list_workers())
    session.give(reply, lambda console: _show_workers(session, console, reply["items"]))


@worker.command()
@click.argument("worker_id", metavar="ID")
@click.pass_obj
def drain(session: Session, /, worker_id: str) -> None:
    """Let a worker finish what it holds and take nothing more."""
    reply = session.work(lambda operations: operations.drain_worker(worker_id))
    session.give(reply, lambda console: console.print(f"{clean(worker_id)} takes no more runs."))


def _start(session: Session, settings: Settings, main: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    from puntual.cli.process import start
    from puntual.engine.process import run_loop

    run_loop(main(start(session, settings)))


def _microseconds(text: str | None, flag: str) -> int:
    if text is None:
        return 0
    us = parse_duration(text, field=flag)
    if us == 0:
        raise InvalidError(f"{flag} must be longer than nothing.", field=flag)
    return us


def _show_workers(session: Session, console: Any, items: list[dict[str, Any]]) -> None:  # noqa: ANN401 - a Console
    from puntual.cli.tables import empty, table

    if not items:
        empty(console, "No worker is running.", "serve")
        return
    columns = ("!ID", "~Roles", "Queues", ">Held", ">Slots", "!Seen", "~Started", "!State")
    table(console, columns, [_row(session, item) for item in items])
    console.print(plural(len(items), "worker"))


def _row(session: Session, item: dict[str, Any]) -> tuple[object, ...]:
    return (
        item["id"],
        listed(item.get("roles") or ()),
        listed(item["queues"]) if item.get("queues") else "all",
        item.get("held"),
        item.get("concurrency"),
        when(item.get("seen_at"), session.now),
        when(item.get("started_at"), session.now),
        "overdue" if item.get("overdue") else "draining" if item.get("draining") else "working",
    )
