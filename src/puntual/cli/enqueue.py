"""``puntual enqueue``: one run of a task, now or later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from puntual.cli.options import PRIORITIES, Command, json_value, where
from puntual.cli.session import Session
from puntual.cli.words import clean, when
from puntual.model.instant import parse_instant

if TYPE_CHECKING:
    from rich.console import Console


@click.command(cls=Command)
@click.argument("task")
@click.argument("args", required=False, metavar="[ARGS_JSON]")
@click.option("--queue", metavar="Q", help="In this queue.")
@click.option("--delay", metavar="D", help="Due this long from now.")
@click.option("--at", metavar="T", help="Due at this instant.")
@click.option("--priority", type=click.Choice(PRIORITIES), help="How urgent it is.")
@click.option("--unique-key", metavar="K", help="While a run of the task with this key is live, make no other.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="With this tag (repeatable).")
@click.option("--max-attempts", type=click.IntRange(1), metavar="N", help="How many starts at most.")
@click.pass_obj
def enqueue(session: Session, /, task: str, args: str | None, **given: object) -> None:
    """Ask for one run of a task, now or later."""
    body = where({"task": task, "args": json_value(args, "ARGS_JSON"), **given})
    reply = session.work(lambda operations: operations.enqueue(body), tasks=True, creates=True)

    def show(console: Console) -> None:
        console.print(_sentence(session, reply))
        session.warn(reply)

    session.give(reply, show)


def _sentence(session: Session, run: dict[str, Any]) -> str:
    stood = " stood already and" if run.get("existing") else ""
    # What is due in a second is not due now, only because the answer took that second.
    due = when(run.get("due_at"), min(session.now, parse_instant(run["created_at"])))
    return f"Run {clean(run['id'])}{stood} is {run['state']}, due {due}. Watch it: puntual run watch {clean(run['id'])}"
