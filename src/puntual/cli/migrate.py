"""``puntual migrate``: the database is brought to this release, or told apart from it without a change."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from puntual.cli.backup import local_only
from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.session import Session
from puntual.cli.words import plural

if TYPE_CHECKING:
    from puntual.settings import Settings


@click.command(cls=Command)
@click.option("--check", is_flag=True, help="Change nothing; exit 1 if something would have to be done.")
@click.pass_obj
def migrate(session: Session, /, check: bool) -> int | None:  # noqa: FBT001 - click's
    """Bring the database to this release."""
    local_only(session, "migrate")
    settings = session.settings
    missing, newest = _of_postgres(settings) if settings.on_postgres else _of_sqlite(settings)
    if not check:
        asyncio.run(_open(session))
    document = {
        "database": settings.shown_database,
        "schema": newest,
        "pending": missing,
        "done": not check,
    }
    session.give(document, lambda console: console.print(_sentence(missing, check=check)))
    return FAILED if check and missing else None


def _of_sqlite(settings: Settings) -> tuple[int, int]:
    """How many migrations are missing, and the version that the last one leads to."""
    from puntual.store.sqlite.migrate import pending, shipped
    from puntual.store.sqlite.place import check_place

    path = settings.database_path
    if os.path.lexists(path):
        check_place(str(Path(path).absolute()))
    return pending(path), max(step.version for step in shipped())


def _of_postgres(settings: Settings) -> tuple[int, int]:
    from puntual.concrete import place_of

    place = place_of(settings)
    from puntual.store.postgres.migrate import pending, shipped

    return len(asyncio.run(pending(place))), max(step.version for step in shipped())


def _sentence(missing: int, *, check: bool) -> str:
    if not missing:
        return "The database is up to date."
    return f"{plural(missing, 'migration')} {'to apply: puntual migrate does it' if check else 'applied'}."


async def _open(session: Session) -> None:
    async with session.app(creates=True, migrates=True):
        pass
