"""``puntual serve``: the whole product in one process."""

from __future__ import annotations

import click

from puntual.cli.options import Command
from puntual.cli.session import Session


@click.command(cls=Command)
@click.option("--app", metavar="MODULE:APP", help="The App whose tasks and schedules to serve.")
@click.option("--apply", "files", multiple=True, metavar="FILE...", help="Apply these manifests first.")
@click.option("--roles", metavar="ROLES", help="Some of api,scheduler,worker [default: all].")
@click.option("--host", metavar="ADDRESS", help="Where the API listens [default: 127.0.0.1].")
@click.option("--port", metavar="PORT", help="Its port; 0 takes a free one [default: 8787].")
@click.argument("more_files", nargs=-1, metavar="")
@click.pass_obj
def serve(session: Session, /, files: tuple[str, ...], more_files: tuple[str, ...], **said: str | None) -> None:
    """Serve the API, plan schedules and execute runs, all in this process."""
    if more_files and not files:
        context = click.get_current_context()
        raise click.UsageError(f"{more_files[0][:60]!r} is no option; manifests come after --apply.", context)
    settings = session.settings_with(said)
    from puntual.cli.process import start
    from puntual.cli.serving import serve_until_stopped
    from puntual.engine.process import run_loop

    app = start(session, settings)
    run_loop(serve_until_stopped(session, app, settings, [*files, *more_files]))
