"""``puntual serve``: the whole product in one process, or in several under a supervisor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from puntual.cli.member import member_of, supervised
from puntual.cli.options import Command, processes
from puntual.cli.session import Session
from puntual.settings import Settings


@click.command(cls=Command)
@click.option("--app", metavar="MODULE:APP", help="The App whose tasks and schedules to serve.")
@click.option("--apply", "files", multiple=True, metavar="FILE...", help="Apply these manifests first.")
@click.option("--roles", metavar="ROLES", help="Some of api,scheduler,worker [default: all].")
@click.option("--host", metavar="ADDRESS", help="Where the API listens [default: 127.0.0.1].")
@click.option("--port", metavar="PORT", help="Its port; 0 takes a free one [default: 8787].")
@processes
@supervised
@click.argument("more_files", nargs=-1, metavar="")
@click.pass_obj
def serve(
    session: Session, /, files: tuple[str, ...], more_files: tuple[str, ...], number: int | None, **said: str | None
) -> int:
    """Serve the API, plan schedules and execute runs, in this process or in several."""
    if more_files and not files:
        context = click.get_current_context()
        raise click.UsageError(f"{more_files[0][:60]!r} is no option; manifests come after --apply.", context)
    session.member = member_of(said)
    settings = session.settings_with(said)
    files = (*files, *more_files)
    if number is not None:
        return _serve_in_several(session, settings, said, (number, files))
    from puntual.cli.process import run
    from puntual.cli.serving import serve_until_stopped

    run(session, settings, lambda app: serve_until_stopped(session, app, settings, files))
    return 0


def _serve_in_several(
    session: Session, settings: Settings, said: Mapping[str, object], wanted: tuple[int, Sequence[str]]
) -> int:
    """One process with all the roles, which listens and applies the manifests; the others have no API."""
    from puntual.cli.supervisor import Kept, supervise, words_of

    number, files = wanted
    roles = ",".join(role for role in settings.roles if role != "api")
    if number > 1 and not roles:
        text = "--processes needs the role scheduler or worker: only one process serves the API."
        raise click.UsageError(text, click.get_current_context())
    manifests = (f"--apply={file}" for file in files)
    first = Kept(words=("serve", *words_of(said)), opening=(*manifests, *(("--json",) if session.as_json else ())))
    other = Kept(words=("serve", *words_of({"app": said["app"], "roles": roles})))
    return supervise(session, settings, [first, *[other] * (number - 1)])[0]
