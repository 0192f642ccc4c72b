"""Migrations: numbered SQL files, each applied once, in order, under a lock of the database."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from puntual.store.postgres.session import Session


class Opening(msgspec.Struct, frozen=True):
    """What opening may do to a database.

    Args:
        migrate: make our schema where there is none, and bring one that is there up to date.
    """

    migrate: bool = False


async def prepare(session: Session, opening: Opening) -> None:
    """Checks the schema, and brings it up to date where that is allowed."""
    if not opening.migrate:
        return
    folder = files("puntual.store.postgres") / "migrations"
    texts = sorted(
        (file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")
    )
    async with session.pool.acquire() as connection, connection.transaction():
        if await connection.fetchval("SELECT to_regclass('puntual.runs') IS NULL"):
            for _, text in texts:
                await connection.execute(text)
