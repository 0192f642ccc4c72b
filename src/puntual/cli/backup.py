"""``puntual backup FILE``: a copy of the database, taken while it is in use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import click

from puntual.cli.options import Command
from puntual.cli.progress import progress
from puntual.cli.session import Session
from puntual.cli.words import clean

_LOOK: Final = 0.1


@click.command(cls=Command)
@click.argument("file")
@click.pass_obj
def backup(session: Session, /, file: str) -> None:
    """Write a copy of the database while it is in use."""
    path = Path(file).absolute()
    local_only(session, "backup")
    if session.settings.on_postgres:
        from puntual.model.errors import InvalidError

        raise InvalidError(
            f"A PostgreSQL database is copied by its own tools: pg_dump --format custom --file {path}",
            field="DATABASE_URL",
        )
    if path.is_dir():
        from puntual.model.errors import ConflictError

        raise ConflictError(f"{path} is a folder: name a file in it, for example {path / 'puntual-backup.db'}.")
    size = asyncio.run(_copy(session, path))
    document = {"path": str(path), "bytes": size}
    session.give(document, lambda console: console.print(f"{clean(path)} holds the database: {size:,} bytes."))


def local_only(session: Session, what: str) -> None:
    """Refuses what works on the database's file, where a server is set.

    Raises:
        InvalidError: one is.
    """
    if session.settings.server is not None:
        from puntual.model.errors import InvalidError

        raise InvalidError(
            f"{what} works on the database itself, not through a server.",
            hint="Say it where the database is, without PUNTUAL_SERVER.",
            field="SERVER",
        )


async def _copy(session: Session, path: Path) -> int:
    async with session.app() as app:
        copying = asyncio.ensure_future(app.store.backup(str(path)))
        with progress(session, "copying", _size(Path(session.settings.database_path))) as done:
            while not copying.done():
                await asyncio.wait([copying], timeout=_LOOK)
                done(_size(path.with_name(f"{path.name}.part")))
        return await copying


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
