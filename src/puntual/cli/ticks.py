"""``puntual ticks``: every planned tick with what became of it."""

from __future__ import annotations

import click

from puntual.cli.options import FATES, Command, paging, period, where
from puntual.cli.session import Session


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
    reply = session.work(lambda operations: operations.list_ticks(asked))
    session.give(reply, lambda console: show_ticks(session, console, reply, named=name is None))
