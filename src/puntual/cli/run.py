"""``puntual run``: look at runs, watch, cancel, replay and edit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from puntual.cli.failure import FAILED
from puntual.cli.options import PRIORITIES, Group, json_value, narrow, paging, queues, states, where
from puntual.cli.session import Session
from puntual.cli.words import clean, plural

if TYPE_CHECKING:
    from puntual.operations.contract import Operations

_ANSWERS = {
    "cancelled": "is cancelled",
    "requested": "was asked to stop",
    "ended": "was over already",
    "missing": "does not exist",
}


@click.group(cls=Group)
def run() -> None:
    """List, show, watch, cancel, replay and edit runs."""


@run.command("list")
@states
@queues
@narrow
@paging
@click.pass_obj
def list_runs(session: Session, /, **given: object) -> None:
    """List runs, newest first."""
    from puntual.cli.rows import show_runs

    reply = session.work(lambda operations: operations.list_runs(where(given)))
    session.give(reply, lambda console: show_runs(session, console, reply))


@run.command()
@click.argument("run_id", metavar="ID")
@click.option("--output", is_flag=True, help="Also what the last attempt answered or printed.")
@click.pass_obj
def show(session: Session, /, run_id: str, output: bool) -> None:  # noqa: FBT001 - click's
    """Show one run with its attempts."""
    from puntual.cli.rows import show_run

    async def work(operations: Operations) -> tuple[dict[str, Any], dict[str, Any] | None]:
        found = await operations.get_run(run_id)
        wanted = output and found.get("attempts")
        return found, await operations.get_response(run_id, found["attempts"][-1]["number"]) if wanted else None

    found, response = session.work(work)
    document = found if response is None else {**found, "response": response}
    session.give(document, lambda console: show_run(session, console, found))
    if response is not None and not session.as_json:
        click.echo(f"\n{clean(response['body'], keep=chr(10))}")


@run.command()
@click.argument("run_id", metavar="ID")
@click.pass_obj
def watch(session: Session, /, run_id: str) -> int | None:
    """Wait until a run has ended; exit 1 unless it succeeded."""
    from puntual.cli.watch import watch_to_end

    return watch_to_end(session, run_id)


@run.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.pass_obj
def cancel(session: Session, /, ids: tuple[str, ...]) -> int | None:
    """Cancel runs: pending ones end, running ones are asked to stop."""
    reply = session.work(lambda operations: operations.cancel_runs(list(ids)))
    lines = [f"{clean(run_id)} {_ANSWERS.get(answer, answer)}" for run_id, answer in reply["answers"].items()]
    session.give(reply, lambda console: console.print("\n".join(lines)))
    return FAILED if "missing" in reply["answers"].values() else None


@run.command()
@click.argument("run_id", metavar="ID")
@click.option("--args", metavar="JSON", help="With other arguments: a new run.")
@click.pass_obj
def replay(session: Session, /, run_id: str, args: str | None) -> None:
    """Run it again: a dead run is put back, any other is made anew."""
    body = {} if args is None else {"args": json_value(args, "--args")}
    reply = session.work(lambda operations: operations.replay_run(run_id, body))
    same = reply["id"] == run_id
    how = "is put back, with its id and its effects remembered" if same else f"is a new run, made from {clean(run_id)}"
    session.give(reply, lambda console: console.print(f"{clean(reply['id'])} {how}."))


@run.command()
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option("--priority", type=click.Choice(PRIORITIES), help="The new priority.")
@click.option("--at", metavar="T", help="The new due time: an instant.")
@click.option("--queue", metavar="Q", help="The new queue.")
@click.option("--in-queue", multiple=True, metavar="Q", help="Those in this queue now (repeatable).")
@narrow
@click.pass_obj
def edit(session: Session, /, ids: tuple[str, ...], **given: object) -> None:
    """Change the priority, due time or queue of pending runs."""
    changes = where({name: given.pop(name) for name in ("priority", "at", "queue")})
    chosen = where({"ids": ids, "queue": given.pop("in_queue"), **given})
    context = click.get_current_context()
    if not changes:
        raise click.UsageError("Say what to change: --priority, --at or --queue.", context)
    if not chosen:
        raise click.UsageError("Say which runs: ID... or a filter.", context)
    reply = session.work(lambda operations: operations.edit_runs(chosen, changes))
    session.give(reply, lambda console: console.print(f"{plural(len(reply['ids']), 'pending run')} changed."))
