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
    from puntual.store.migration import Schema


@click.command(cls=Command)
@click.option("--check", is_flag=True, help="Change nothing; exit 1 if something would have to be done.")
@click.pass_obj
def migrate(session: Session, /, check: bool) -> int | None:  # noqa: FBT001 - click's
    """Bring the database to this release."""
    local_only(session, "migrate")
    settings = session.settings
    schema, newest = _of_postgres(settings) if settings.on_postgres else _of_sqlite(settings)
    missing = len(schema.missing)
    if not check:
        asyncio.run(_open(session))
    document = {
        "database": settings.shown_database,
        "schema": max(newest, schema.version),
        "pending": missing,
        "done": not check,
    }
    session.give(document, lambda console: console.print(_sentence(schema, newest, check=check)))
    return FAILED if check and missing else None


def _of_sqlite(settings: Settings) -> tuple[Schema, int]:
    """The schema as it is, and the one of this release."""
    from puntual.store.sqlite.migrate import look, shipped
    from puntual.store.sqlite.place import check_place

    path = settings.database_path
    if os.path.lexists(path):
        check_place(str(Path(path).absolute()))
    return look(path), max(step.version for step in shipped())


def _of_postgres(settings: Settings) -> tuple[Schema, int]:
    from puntual.concrete import place_of

    place = place_of(settings)
    from puntual.store.postgres.migrate import look, shipped

    return asyncio.run(look(place)), max(step.version for step in shipped())


def _sentence(schema: Schema, newest: int, *, check: bool) -> str:
    if schema.version > newest:
        return "The database is newer than this puntual, and works with it."
    if not schema.missing:
        return "The database is up to date."
    return f"{plural(len(schema.missing), 'migration')} {'to apply: puntual migrate does it' if check else 'applied'}."


async def _open(session: Session) -> None:
    async with session.app(creates=True, migrates=True):
        pass
