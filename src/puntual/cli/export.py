"""``puntual export`` and ``puntual schema``: manifests as puntual writes and reads them."""

from __future__ import annotations

import click

from puntual.cli.options import Command
from puntual.cli.session import Session


@click.command(cls=Command)
@click.pass_obj
def export(session: Session) -> None:
    """Print the schedules as a manifest that apply takes back."""
    reply = session.work(lambda operations: operations.export())
    # As it is: a manifest escapes what a terminal would obey, and must be read back to the same.
    session.give(reply, lambda _console: click.echo(reply["manifest"], nl=False))


@click.command(cls=Command)
@click.pass_obj
def schema(session: Session) -> None:
    """Print the JSON Schema of manifests."""
    from puntual.manifest import manifest_schema

    session.print_json(manifest_schema())
