"""A database as each release left it is brought to this one, and to the next, and loses nothing on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import msgspec
import pytest

from puntual.store.postgres import Place
from puntual.store.postgres.migrate import migrate, shipped
from tests.support.databases import database, opened
from tests.support.frozen import RELEASED, TABLES, THIS, work_with
from tests.support.releases import next_step

if TYPE_CHECKING:
    from asyncpg import Record

    Line = asyncpg.Connection[Record]

STEPS = [*shipped(), next_step("postgres")]
#: Everything that a schema is made of, in words.
SHAPE = """
SELECT concat_ws(' ', 'column', table_name, column_name, data_type, is_nullable, column_default, generation_expression)
FROM information_schema.columns WHERE table_schema = 'puntual'
UNION ALL SELECT indexdef FROM pg_catalog.pg_indexes WHERE schemaname = 'puntual'
UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_catalog.pg_constraint
WHERE connamespace = 'puntual'::regnamespace
UNION ALL SELECT pg_get_functiondef(oid) FROM pg_catalog.pg_proc WHERE pronamespace = 'puntual'::regnamespace
UNION ALL SELECT definition FROM pg_catalog.pg_views WHERE schemaname = 'puntual'
ORDER BY 1
"""


@pytest.fixture(params=sorted(RELEASED.iterdir()), ids=lambda folder: folder.name)
async def left(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The URL of a database as a release left it."""
    folder: Path = request.param
    async with database(migrated=False) as url:
        line = await asyncpg.connect(url)
        await line.execute((folder / "postgres.dump").read_text())
        await line.close()
        yield url


@pytest.fixture
async def line(left: str) -> AsyncIterator[Line]:
    """A connection for looking."""
    made = await asyncpg.connect(left)
    yield made
    await made.close()


async def _rows(line: Line) -> dict[str, list[dict[str, object]]]:
    """All that is in it, by table."""
    return {
        table: [
            msgspec.json.decode(text)
            for (text,) in await line.fetch(f"SELECT row_to_json(t)::text FROM puntual.{table} AS t")  # noqa: S608 - a name of its own
        ]
        for table, _ in await line.fetch(TABLES)
    }


async def test_every_row_is_what_it_was(left: str, line: Line) -> None:
    """Of every kind there is one; a migration adds to it, and takes nothing away."""
    before = await _rows(line)
    assert all(before.values()), "a table without a row"
    await migrate(Place(left), STEPS)
    after = await _rows(line)
    for table, rows in before.items():
        kept = [{name: row[name] for name in rows[0]} for row in after[table]]
        assert [row for row in kept if row in rows] == rows, table
        assert table == "schema_migrations" or len(kept) == len(rows), table


async def test_the_schema_is_that_of_a_new_database(left: str, line: Line) -> None:
    """Whichever way it came about."""
    await migrate(Place(left), STEPS)
    async with database(migrated=False) as url:
        await migrate(Place(url), STEPS)
        other = await asyncpg.connect(url)
        made = await other.fetch(SHAPE)
        await other.close()
    assert await line.fetch(SHAPE) == made


@pytest.mark.parametrize("ahead", [False, True], ids=["this", "next"])
async def test_this_release_works_with_it(left: str, ahead: bool) -> None:  # noqa: FBT001 - pytest's
    """On its own schema, and on that of the next release."""
    await migrate(Place(left), STEPS if ahead else None)
    async with opened(left) as store:
        await work_with(store)


def test_what_this_release_leaves_is_written_down() -> None:
    """So that the next one is held to it."""
    text = (THIS / "postgres.dump").read_text()
    assert all(step.text in text and step.checksum in text for step in shipped()), (
        "the schema has changed: `python -m tests.support.frozen` writes down what this release leaves"
    )
