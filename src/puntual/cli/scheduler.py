"""``puntual scheduler``: plans schedules and does the upkeep, without an API and without executing."""

from __future__ import annotations

import click

from puntual.cli.options import Command
from puntual.cli.session import Session


@click.command(cls=Command)
@click.option("--app", metavar="MODULE:APP", help="The App whose schedules to write and plan.")
@click.pass_obj
def scheduler(session: Session, /, app: str | None) -> None:
    """Plan schedules and look after the database, without executing runs."""
    settings = session.settings_with({"APP": app})
    from puntual.cli.process import run
    from puntual.cli.working import work

    run(session, settings, lambda loaded: work(session, loaded, settings, ("scheduler",)))
