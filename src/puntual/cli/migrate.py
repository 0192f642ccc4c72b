"""``puntual migrate``: the database is brought to this release, or told apart from it without a change."""

from __future__ import annotations

import asyncio
import sqlite3
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
    from puntual.store.sqlite.migrate import shipped

    local_only(session, "migrate")
    known = [step.version for step in shipped()]
    path = session.settings.database_path
    pending = [version for version in known if version > _applied(path)]
    if not check:
        asyncio.run(_open(session))
    document = {
        "database": str(Path(path).absolute()),
        "schema": max(known),
        "pending": len(pending),
        "done": not check,
    }
    session.give(document, lambda console: console.print(_sentence(len(pending), check=check)))
    return FAILED if check and pending else None


def _sentence(pending: int, *, check: bool) -> str:
    if not pending:
        return "The database is up to date."
    return f"{plural(pending, 'migration')} {'to apply: puntual migrate does it' if check else 'applied'}."


async def _open(session: Session) -> None:
    async with session.app():
        pass


def _applied(path: str) -> int:
    """The last migration of a database, without changing it; 0 where there is none.

    Raises:
        StoreUnusableError: the file cannot be read.
    """
    from puntual.model.errors import StoreUnusableError

    file = Path(path).absolute()
    if not file.exists():
        return 0
    try:
        connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
        try:
            (there,) = connection.execute(
                "SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'"
            ).fetchone()
            found = connection.execute("SELECT max(version) FROM schema_migrations").fetchone() if there else (0,)
            return int(found[0] or 0)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StoreUnusableError(f"{path} cannot be read: {error}.") from error
