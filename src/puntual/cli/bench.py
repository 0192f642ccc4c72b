"""``puntual bench``: what this machine does, each figure beside its floor."""

from __future__ import annotations

import click

from puntual.cli.options import Command
from puntual.cli.session import Session


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--database-url", metavar="URL", help="On this database [default: a new one that is removed afterwards].")
@click.option("--runs", type=click.IntRange(1), metavar="N", help="How many runs to measure with.")
@click.option("--quick", is_flag=True, help="A rough look in a minute.")
@click.pass_obj
def bench(session: Session, /, names: tuple[str, ...], database_url: str | None, runs: int | None, quick: bool) -> None:  # noqa: FBT001 - click's
    """Measure this machine, each figure beside its floor."""
    del session, names, database_url, runs, quick
