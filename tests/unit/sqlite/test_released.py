"""A file as each release left it is brought to this one, and to the next, and loses nothing on the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.connection import connect
from puntual.store.sqlite.migrate import migrate, shipped
from puntual.testing.conformance.build import NOW
from tests.support.frozen import RELEASED, THIS, work_with
from tests.support.releases import newest, next_step

STEPS = [*shipped(), next_step("sqlite")]
Rows = dict[str, list[dict[str, object]]]


@pytest.fixture(params=sorted(RELEASED.iterdir()), ids=lambda folder: folder.name)
def released(request: pytest.FixtureRequest) -> Path:
    """What a release left."""
    folder: Path = request.param
    return folder / "sqlite.dump"


@pytest.fixture
def left(released: Path, path: str) -> Iterator[sqlite3.Connection]:
    """Its database, in a file."""
    with closing(connect(path, cache_kb=100)) as connection:
        connection.executescript(released.read_text())
        yield connection


def _rows(connection: sqlite3.Connection) -> Rows:
    """All that is in it, by table."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    found: Rows = {}
    for (table,) in tables:
        cursor = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name of its own
        names = [column[0] for column in cursor.description]
        found[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return found


def _shape(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()


def test_every_row_is_what_it_was(left: sqlite3.Connection, path: str) -> None:
    """Of every kind there is one; a migration adds to it, and takes nothing away."""
    before = _rows(left)
    assert all(before.values()), "a table without a row"
    migrate(left, path, now=NOW, migrations=STEPS)
    after = _rows(left)
    for table, rows in before.items():
        kept = [{name: row[name] for name in rows[0]} for row in after[table]]
        assert [row for row in kept if row in rows] == rows, table
        assert table == "schema_migrations" or len(kept) == len(rows), table


def test_the_schema_is_that_of_a_new_file(left: sqlite3.Connection, path: str, tmp_path: Path) -> None:
    """Whichever way it came about."""
    migrate(left, path, now=NOW, migrations=STEPS)
    with closing(connect(str(tmp_path / "new.db"), cache_kb=100)) as made:
        migrate(made, "new.db", now=NOW, migrations=STEPS)
        assert sorted(" ".join(sql.replace('"', "").split()) for _, sql in _shape(left)) == sorted(
            " ".join(sql.replace('"', "").split()) for _, sql in _shape(made)
        )


@pytest.mark.parametrize("ahead", [False, True], ids=["this", "next"])
async def test_this_release_works_with_it(left: sqlite3.Connection, path: str, ahead: bool) -> None:  # noqa: FBT001 - pytest's
    """On its own schema, and on that of the next release: all of it is read, claimed, rescued and planned."""
    if ahead:
        migrate(left, path, now=NOW, migrations=STEPS)
    store = SqliteStore(path, clock=SystemClock())
    await store.open()
    try:
        await work_with(store)
    finally:
        await store.close()


def test_what_this_release_leaves_is_written_down() -> None:
    """So that the next one is held to it."""
    text = (THIS / "sqlite.dump").read_text()
    assert f"'{shipped()[-1].checksum}',{shipped()[-1].oldest}," in text, (
        "the schema has changed: `python -m tests.support.frozen` writes down what this release leaves"
    )
    assert newest("sqlite") == text.count('INSERT INTO "schema_migrations"')
