"""``puntual ticks``: every planned tick with what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from puntual.cli.options import FATES, Command, paging, period, where
from puntual.cli.session import Session
from puntual.cli.words import when

if TYPE_CHECKING:
    from puntual.operations.contract import Operations


@click.command(cls=Command)
@click.argument("name", required=False)
@click.option("--fate", multiple=True, type=click.Choice(FATES), help="With this fate (repeatable).")
@period
@paging
@click.pass_obj
def ticks(session: Session, /, name: str | None, **given: object) -> None:
    """List what became of each tick."""
    from puntual.cli.rows import show_ticks

    asked = where({"schedule": name, **given})

    async def work(operations: Operations) -> tuple[dict[str, Any], str]:
        found = await operations.list_ticks(asked)
        empty = not found["items"] and not session.as_json
        return found, await _nothing(session, operations, name, given) if empty else ""

    reply, nothing = session.work(work)
    session.give(reply, lambda console: show_ticks(session, console, reply, named=name is None, nothing=nothing))


async def _nothing(session: Session, operations: Operations, name: str | None, given: dict[str, object]) -> str:
    """Why the record is empty: nothing matches, nothing has been due yet, or there is no such schedule."""
    from puntual.model.errors import NotFoundError

    coming: object = None
    if name is not None:
        try:
            coming = (await operations.get_schedule(name))["next_due_at"]
        except NotFoundError as error:
            # What a removed schedule did is kept: an empty record means that there never was one.
            raise NotFoundError(f"There is no schedule {name!r}.", hint=error.hint) from error
    if any(given[what] for what in ("fate", "since", "until", "cursor")):
        return "There is no such tick."
    if name is None:
        return "No tick yet: puntual schedule list shows what is to come."
    return f"No tick yet; the first is {when(coming, session.now)}." if coming else "No tick yet, and none is to come."
