"""``puntual dead``: runs whose attempts are spent, to look at, put back or lay aside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.failure import FAILED
from puntual.cli.options import Group, narrow, paging, queues, where, yes
from puntual.cli.progress import progress
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, plural

if TYPE_CHECKING:
    from puntual.operations.contract import Operations

_PAGE: Final = 1_000
_CHUNK: Final = 200

#: Does a chunk of ids and answers what became of each.
Act = Callable[["Operations", list[str]], Awaitable[dict[str, str]]]

everything = click.option("--all", "everything", is_flag=True, help="All of them.")


@click.group(cls=Group)
def dead() -> None:
    """List, replay and discard runs whose attempts are spent."""


@dead.command("list")
@queues
@narrow
@paging
@click.pass_obj
def list_dead(session: Session, /, **given: object) -> None:
    """List dead runs that nobody has discarded, newest first."""
    from puntual.cli.rows import show_runs

    reply = session.work(lambda operations: operations.list_dead(where(given)))
    narrowed = any(value for name, value in given.items() if name != "limit")
    nothing = "Nothing among these is dead." if narrowed else "Nothing is dead."
    session.give(reply, lambda console: show_runs(session, console, reply, nothing))


@dead.command()
@click.argument("run_id", metavar="ID")
@click.pass_obj
def show(session: Session, /, run_id: str) -> None:
    """Show one dead run with its attempts."""
    from puntual.cli.rows import show_run

    reply = session.work(lambda operations: operations.get_run(run_id))
    session.give(reply, lambda console: show_run(session, console, reply))


@dead.command()
@click.argument("ids", nargs=-1, metavar="[ID...]")
@everything
@yes
@queues
@narrow
@click.pass_obj
def replay(session: Session, /, ids: tuple[str, ...], **given: object) -> int | None:
    """Put dead runs back: same id, with a fresh budget of attempts."""

    async def act(operations: Operations, chunk: list[str]) -> dict[str, str]:
        answers: dict[str, str] = (await operations.replay_dead({"ids": chunk}))["answers"]
        return answers

    return _each(session, ids, given, "replay", act)


@dead.command()
@click.argument("ids", nargs=-1, metavar="[ID...]")
@everything
@yes
@queues
@narrow
@click.pass_obj
def discard(session: Session, /, ids: tuple[str, ...], **given: object) -> int | None:
    """Take dead runs out of the list; history keeps them."""

    async def act(operations: Operations, chunk: list[str]) -> dict[str, str]:
        done = set((await operations.discard_dead({"ids": chunk}))["ids"])
        return {run_id: "discarded" if run_id in done else "not_dead" for run_id in chunk}

    return _each(session, ids, given, "discard", act)


def _each(session: Session, ids: tuple[str, ...], given: dict[str, object], verb: str, act: Act) -> int | None:
    """Finds the runs that are meant, asks where that was a filter, and does them chunk by chunk."""
    said_all, said_yes = bool(given.pop("everything")), bool(given.pop("yes"))
    filters = where(given)
    if bool(ids) + bool(filters) + said_all != 1:
        raise click.UsageError(f"Say which to {verb}: ID..., filters, or --all.", click.get_current_context())

    async def work(operations: Operations) -> dict[str, str]:
        chosen = list(ids) or await _found(operations, filters)
        if not ids and chosen:
            session.confirm(f"{verb.capitalize()} {plural(len(chosen), 'dead run')}?", yes=said_yes)
        answers: dict[str, str] = {}
        with progress(session, verb, len(chosen)) as done:
            for start in range(0, len(chosen), _CHUNK):
                answers |= await act(operations, chosen[start : start + _CHUNK])
                done(len(answers))
        return answers

    answers = session.work(work)
    session.give({"answers": answers}, lambda _console: _show(answers, f"{verb}ed"))
    return FAILED if ids and any(answer != f"{verb}ed" for answer in answers.values()) else None


async def _found(operations: Operations, filters: dict[str, Any]) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await operations.list_dead({**filters, "limit": _PAGE, **({"cursor": cursor} if cursor else {})})
        found += [item["id"] for item in page["items"]]
        cursor = page.get("next_cursor")
        if not cursor:
            return found


def _show(answers: dict[str, str], done: str) -> None:
    count = sum(answer == done for answer in answers.values())
    click.echo(f"{plural(count, 'run')} {done}.")
    others = [f"{run_id} ({answer})" for run_id, answer in answers.items() if answer != done]
    if others:
        click.echo(f"Left as they are: {clean(listed(others, 10))}.")
