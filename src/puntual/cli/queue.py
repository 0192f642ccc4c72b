"""``puntual queue``: lanes of runs, their limits and their pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from puntual.cli.options import Group
from puntual.cli.session import Session
from puntual.cli.words import clean, when
from puntual.model.fleet import COUNTED_TO

if TYPE_CHECKING:
    from puntual.operations.contract import Operations


@click.group(cls=Group)
def queue() -> None:
    """List, limit, pause and resume queues."""


@queue.command("list")
@click.pass_obj
def list_queues(session: Session) -> None:
    """List queues with their counts."""
    reply = session.work(lambda operations: operations.list_queues())
    session.give(reply, lambda console: _show(session, console, reply["items"]))


@queue.command("set")
@click.argument("name")
@click.option("--concurrency", required=True, metavar="N|none", help="How many runs of it at once in the whole fleet.")
@click.pass_obj
def set_queue(session: Session, /, name: str, concurrency: str) -> None:
    """Limit how many runs of a queue go at once."""
    from puntual.operations.filters import MOST_AT_ONCE, whole

    limit = None if concurrency == "none" else whole(concurrency, "--concurrency", most=MOST_AT_ONCE)
    reply = session.work(lambda operations: operations.set_queue(name, {"concurrency": limit}), creates=True)
    words = "has no limit" if limit is None else f"runs at most {limit:,} at once"
    session.give(reply, lambda console: console.print(f"{clean(name)} {words}."))


@queue.command()
@click.argument("name")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks.")
@click.pass_obj
def pause(session: Session, /, name: str, reason: str | None) -> None:
    """Start nothing more of a queue until it is resumed."""
    body = {"paused": True, **({"pause_reason": reason} if reason else {})}

    async def work(operations: Operations) -> tuple[dict[str, Any], bool]:
        known = session.as_json or any(item["name"] == name for item in (await operations.list_queues())["items"])
        return await operations.set_queue(name, body), known

    reply, known = session.work(work, creates=True)
    new = "" if known else " It is a new queue: no run has named it yet."
    session.give(reply, lambda console: console.print(f"{clean(name)} is paused; what runs goes on.{new}"))


@queue.command()
@click.argument("name")
@click.pass_obj
def resume(session: Session, /, name: str) -> None:
    """Start its runs again."""
    reply = session.work(lambda operations: operations.set_queue(name, {"paused": False}))
    session.give(reply, lambda console: console.print(f"{clean(name)} goes on."))


def _show(session: Session, console: Any, items: list[dict[str, Any]]) -> None:  # noqa: ANN401 - a Console
    from puntual.cli.tables import cell, empty, table

    if not items:
        empty(console, "There is no queue yet; one exists as soon as a run names it.", "enqueue TASK --queue NAME")
        return
    columns = ("!Name", "State", ">Due", ">Pending", ">Running", ">Limit", ">Dead", "~Oldest due")
    table(
        console,
        columns,
        [
            (
                item["name"],
                cell("paused") if item["paused"] else "open",
                _count(item["due"]),
                _count(item["pending"]),
                _count(item["running"]),
                "none" if item["concurrency"] is None else item["concurrency"],
                _count(item["dead"]),
                when(item.get("oldest_due_at"), session.now),
            )
            for item in items
        ],
    )
    for item in items:
        if item["paused"] and item.get("pause_reason"):
            console.print(f"{clean(item['name'])} is paused: {clean(item['pause_reason'])}")


def _count(count: int) -> str:
    """Nobody counts further than this."""
    return f"{count:,}+" if count >= COUNTED_TO else str(count)
