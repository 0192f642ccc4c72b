"""``puntual migrate``: the database is brought to this release, or told apart from it without a change."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from puntual.cli.backup import local_only
from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.session import Session
from puntual.cli.words import plural


@click.command(cls=Command)
@click.option("--check", is_flag=True, help="Change nothing; exit 1 if something would have to be done.")
@click.pass_obj
def migrate(session: Session, /, check: bool) -> int | None:  # noqa: FBT001 - click's
    """Bring the database to this release."""
    from puntual.store.sqlite.migrate import pending, shipped
    from puntual.store.sqlite.place import check_place

    local_only(session, "migrate")
    path = session.settings.database_path
    if os.path.lexists(path):
        check_place(str(Path(path).absolute()))
    missing = pending(path)
    if not check:
        asyncio.run(_open(session))
    document = {
        "database": str(Path(path).absolute()),
        "schema": max(step.version for step in shipped()),
        "pending": missing,
        "done": not check,
    }
    session.give(document, lambda console: console.print(_sentence(missing, check=check)))
    return FAILED if check and missing else None


def _sentence(missing: int, *, check: bool) -> str:
    if not missing:
        return "The database is up to date."
    return f"{plural(missing, 'migration')} {'to apply: puntual migrate does it' if check else 'applied'}."


async def _open(session: Session) -> None:
    async with session.app(creates=True):
        pass
