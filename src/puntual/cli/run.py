"""``puntual run``: look at runs, watch, cancel, replay and edit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from puntual.cli.failure import FAILED
from puntual.cli.options import PRIORITIES, Group, json_value, longest, narrow, paging, queues, states, timeout, where
from puntual.cli.session import Session
from puntual.cli.words import clean, plural

if TYPE_CHECKING:
    from puntual.operations.contract import Operations

_ANSWERS = {
    "cancelled": "is cancelled",
    "requested": "was asked to stop",
    "ended": "was over already",
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
    if any(value for name, value in given.items() if name != "limit"):
        session.give(reply, lambda console: show_runs(session, console, reply, "There is no such run.", "run list"))
    else:
        session.give(reply, lambda console: show_runs(session, console, reply, "No run yet.", "enqueue TASK"))


@run.command()
@click.argument("run_id", metavar="ID")
@click.option("--output", is_flag=True, help="Also what the last attempt answered or printed.")
@click.pass_obj
def show(session: Session, /, run_id: str, output: bool) -> None:  # noqa: FBT001 - click's
    """Show one run with its attempts."""
    from puntual.cli.rows import show_run

    async def work(operations: Operations) -> tuple[dict[str, Any], dict[str, Any] | None]:
        found = await operations.get_run(run_id)
        return found, await _kept(operations, found) if output else None

    found, response = session.work(work)
    document = {**found, "response": response} if output else found
    session.give(document, lambda console: show_run(session, console, found))
    if output and not session.as_json:
        click.echo(f"\n{_output(response)}")


async def _kept(operations: Operations, found: dict[str, Any]) -> dict[str, Any] | None:
    """What the last attempt answered or printed; None where nothing of it is kept."""
    from puntual.model.errors import NotFoundError

    if not found.get("attempts"):
        return None
    try:
        return await operations.get_response(found["id"], found["attempts"][-1]["number"])
    except NotFoundError:
        return None


def _output(response: dict[str, Any] | None) -> str:
    if response is None:
        return "No answer or output of it is kept."
    more = f"\n({response['truncated']:,} bytes more were not kept)" if response.get("truncated") else ""
    return clean(response["body"], keep="\n") + more


@run.command()
@click.argument("run_id", metavar="ID")
@timeout
@click.pass_obj
def watch(session: Session, /, run_id: str, **said: str | None) -> int | None:
    """Wait until a run has ended; exit 1 unless it succeeded."""
    from puntual.cli.watch import watch_to_end

    return watch_to_end(session, run_id, longest(said["timeout"]))


@run.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.pass_obj
def cancel(session: Session, /, ids: tuple[str, ...]) -> int | None:
    """Cancel runs: pending ones end, running ones are asked to stop."""
    reply = session.work(lambda operations: operations.cancel_runs(list(ids)))
    lines = [_answer(run_id, answer) for run_id, answer in reply["answers"].items()]
    session.give(reply, lambda console: console.print("\n".join(lines)))
    return FAILED if "missing" in reply["answers"].values() else None


def _answer(run_id: str, answer: str) -> str:
    if answer == "missing":
        return f"There is no run {clean(run_id)!r}."
    return f"Run {clean(run_id)} {_ANSWERS.get(answer, answer)}."


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
