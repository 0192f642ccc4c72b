"""``puntual worker``: executes runs, in one process or several; and the workers that there are."""

from __future__ import annotations

from typing import Any

import click

from puntual.cli.member import member_of, supervised
from puntual.cli.once import give_taken, limits_of
from puntual.cli.options import Group, processes
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, plural, when
from puntual.settings import Settings

_THEN = "When those it holds are done its process ends, unless that serves the API."


@click.group(cls=Group, invoke_without_command=True)
@click.option("--app", metavar="MODULE:APP", help="The App whose tasks to execute [default: http and commands only].")
@click.option("--queues", metavar="A,B", help="Only these queues [default: all].")
@click.option("--concurrency", metavar="N", help="How many runs at once, in each process [default: 100].")
@processes
@click.option("--once", is_flag=True, help="Execute what is due now, and exit.")
@click.option("--older-than", metavar="D", help="With --once: only what has been due for this long.")
@click.option("--max-runs", type=click.IntRange(1), metavar="N", help="With --once: at most this many.")
@click.option("--for", "longest", metavar="D", help="With --once: take nothing more after this time.")
@click.option("--alone", is_flag=True, hidden=True, help="Execute runs that were lost twice, one at a time.")
@supervised
@click.pass_context
def worker(ctx: click.Context, /, number: int | None, **said: Any) -> int:  # noqa: ANN401 - flags, texts and numbers
    """Claim and execute runs; or list and drain workers."""
    if ctx.invoked_subcommand is not None:
        return 0
    session = ctx.ensure_object(Session)
    session.member = member_of(said)
    settings = session.settings_with({name.upper(): said[name] for name in ("app", "queues", "concurrency")})
    limits = limits_of(ctx, said)
    if number is not None:
        return _work_in_several(session, settings, said, number)
    from puntual.cli.process import run
    from puntual.cli.working import work, work_once

    if said["once"] or said["alone"]:
        run(session, settings, lambda app: work_once(session, app, limits))
    else:
        run(session, settings, lambda app: work(session, app, settings, ("worker",)))
    return 0


def _work_in_several(session: Session, settings: Settings, said: dict[str, Any], number: int) -> int:
    """All of them alike; the first speaks for all."""
    from puntual.cli.supervisor import Kept, supervise, words_of

    words = ("worker", *words_of({**said, "for": said["longest"], "longest": None}))
    first = Kept(words=words, opening=("--json",) if session.as_json else ())
    code, taken = supervise(session, settings, [first, *[Kept(words=words)] * (number - 1)])
    if said["once"] and code == 0:
        give_taken(session, taken)
    return code


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
    session.give(reply, lambda console: console.print(f"{clean(worker_id)} takes no more runs. {_THEN}"))


def _show_workers(session: Session, console: Any, items: list[dict[str, Any]]) -> None:  # noqa: ANN401 - a Console
    from puntual.cli.tables import empty, table

    if not items:
        empty(console, "No worker is running.", "serve")
        return
    columns = ("!ID", "~Host", "~>PID", "~Roles", "Queues", ">Held", ">Slots", "!Seen", "~Started", "!State")
    table(console, columns, [_row(session, item) for item in items])
    console.print(plural(len(items), "worker"))


def _row(session: Session, item: dict[str, Any]) -> tuple[object, ...]:
    return (
        item["id"],
        item.get("host"),
        item.get("pid"),
        listed(item.get("roles") or ()),
        listed(item["queues"]) if item.get("queues") else "all",
        item.get("held"),
        item.get("concurrency"),
        when(item.get("seen_at"), session.now),
        when(item.get("started_at"), session.now),
        "overdue" if item.get("overdue") else "draining" if item.get("draining") else "working",
    )
