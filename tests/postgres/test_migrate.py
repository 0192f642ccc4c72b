from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest

from puntual.model.errors import StoreBusyError, StoreUnusableError
from puntual.store.migration import Migration, Schema
from puntual.store.postgres import Opening, Place, PostgresStore
from puntual.store.postgres.migrate import look, migrate, shipped
from tests.support.databases import database

FIRST = Migration(1, "0001_first", "CREATE TABLE puntual.things (n integer)")
SECOND = Migration(2, "0002_second", "ALTER TABLE puntual.things ADD COLUMN more integer")


@pytest.fixture
async def empty() -> AsyncIterator[str]:
    """The URL of a database without our schema."""
    async with database(migrated=False) as url:
        yield url


async def execute(url: str, *statements: str) -> None:
    """Runs statements as somebody else would."""
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def open_and_close(url: str, *, migrates: bool = False) -> None:
    """Opens a store, as a process does that serves or works."""
    store = PostgresStore(Place(url), opening=Opening(migrate=migrates))
    await store.open()
    await store.close()


def versions(steps: Sequence[Migration]) -> list[int]:
    """The numbers of migrations."""
    return [step.version for step in steps]


class TestMigrating:
    async def test_an_empty_database_gets_all_and_then_nothing(self, empty: str) -> None:
        """A second time there is nothing to do."""
        place = Place(empty)
        assert await look(place) == Schema(0, shipped())
        assert versions(await migrate(place)) == versions(shipped())
        assert await look(place) == Schema(shipped()[-1].version, [])
        assert await migrate(place) == []
        await open_and_close(empty)

    async def test_several_at_once_share_the_work(self, empty: str) -> None:
        """Whoever comes second waits, and finds it done."""
        done = await asyncio.gather(*(migrate(Place(empty)) for _ in range(4)))
        assert sorted(versions([step for steps in done for step in steps])) == versions(shipped())

    async def test_a_migration_that_fails_leaves_nothing_of_itself(self, empty: str) -> None:
        """What came before it stays, and a better one goes on from there."""
        broken = Migration(2, SECOND.name, SECOND.text + "; SELECT 1 / 0")
        with pytest.raises(Exception, match="division by zero"):
            await migrate(Place(empty), [FIRST, broken])
        assert await look(Place(empty), [FIRST, SECOND]) == Schema(1, [SECOND])
        assert versions(await migrate(Place(empty), [FIRST, SECOND])) == [2]

    async def test_a_table_in_use_is_tried_again_and_others_are_not_held_up(
        self, empty: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A change that waits for its lock would make everybody wait behind it."""
        monkeypatch.setattr("puntual.store.postgres.migrate._BRIEFLY", "SET LOCAL lock_timeout = '1ms'")
        monkeypatch.setattr("puntual.store.postgres.migrate._PAUSE", 0.01)
        await migrate(Place(empty), [FIRST])
        reader = await asyncpg.connect(empty)
        try:
            reading = reader.transaction()
            await reading.start()
            await reader.execute("SELECT * FROM puntual.things")
            with pytest.raises(StoreBusyError, match="in use for too long"):
                await migrate(Place(empty), [FIRST, SECOND])
            monkeypatch.setattr("puntual.store.postgres.migrate._TRIES", 10_000)
            migrating = asyncio.create_task(migrate(Place(empty), [FIRST, SECOND]))
            await reader.execute("SELECT * FROM puntual.things")
            await reading.commit()
            assert versions(await migrating) == [2]
        finally:
            await reader.close()

    async def test_a_deadlock_with_those_who_work_is_tried_again(
        self, empty: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A step that changes several tables may take them in another order than a worker does."""
        monkeypatch.setattr("puntual.store.postgres.migrate._PAUSE", 0.01)
        await migrate(Place(empty), [FIRST])
        await execute(empty, "CREATE SEQUENCE puntual.tries")
        twice = "DO $$BEGIN IF nextval('puntual.tries') < 3 THEN RAISE SQLSTATE '40P01'; END IF; END$$; "
        assert versions(await migrate(Place(empty), [FIRST, Migration(2, SECOND.name, twice + SECOND.text)])) == [2]

    async def test_history_has_its_days_at_once(self, empty: str) -> None:
        """The first run that ends is not a stray."""
        await open_and_close(empty, migrates=True)
        connection = await asyncpg.connect(empty)
        days = await connection.fetchval(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'puntual.run_history'::regclass"
        )
        await connection.close()
        assert days > 1


class TestOpening:
    async def test_an_empty_database_names_the_command(self, empty: str) -> None:
        """Serving migrates nothing."""
        with pytest.raises(StoreUnusableError, match="no schema of puntual yet: `puntual migrate` makes it"):
            await open_and_close(empty)
        assert await look(Place(empty)) == Schema(0, shipped())

    async def test_an_older_schema_names_the_command(self, empty: str) -> None:
        """With both numbers."""
        await migrate(Place(empty), shipped()[:-1])
        newest = shipped()[-1].version
        told = f"has schema {newest - 1} and this puntual works with {newest}: `puntual migrate` brings it there"
        with pytest.raises(StoreUnusableError, match=told):
            await open_and_close(empty)

    @pytest.mark.parametrize("migrates", [False, True])
    async def test_a_newer_schema_is_refused(self, url: str, migrates: bool) -> None:  # noqa: FBT001 - pytest's
        """And left as it is: nobody has said that code of this age may work with it."""
        newer = Migration(999, "0999_newer", "CREATE TABLE puntual.newer (n integer)")
        await migrate(Place(url), [*shipped(), newer])
        told = f"has schema 999, which works with schema 999 or newer, and this puntual knows {shipped()[-1].version}"
        with pytest.raises(StoreUnusableError, match=told):
            await open_and_close(url, migrates=migrates)

    @pytest.mark.parametrize("migrates", [False, True])
    async def test_the_schema_of_the_next_release_is_worked_with(self, url: str, migrates: bool) -> None:  # noqa: FBT001 - pytest's
        """It says how old the code may be, where older code can read it."""
        known = shipped()[-1].version
        added = f"-- oldest: {known}\nALTER TABLE puntual.runs ADD COLUMN more integer;"
        newer = Migration(known + 1, "9999_newer", added)
        await migrate(Place(url), [*shipped(), newer])
        await open_and_close(url, migrates=migrates)
        assert await look(Place(url)) == Schema(known + 1, [])

    @pytest.mark.parametrize("migrates", [False, True])
    async def test_a_schema_that_other_files_made_is_refused(self, url: str, migrates: bool) -> None:  # noqa: FBT001 - pytest's
        """A file that was changed after it had been applied is another migration."""
        await execute(url, "UPDATE puntual.schema_migrations SET checksum = 'other' WHERE version = 1")
        with pytest.raises(StoreUnusableError, match="was migrated by another version of 0001"):
            await open_and_close(url, migrates=migrates)

    @pytest.mark.parametrize("migrates", [False, True])
    async def test_a_schema_of_another_program_is_left_alone(self, empty: str, migrates: bool) -> None:  # noqa: FBT001 - pytest's
        """Ours is known by its record of migrations."""
        await execute(empty, "CREATE SCHEMA puntual", "CREATE TABLE puntual.runs (n integer)")
        with pytest.raises(StoreUnusableError, match="of another program"):
            await open_and_close(empty, migrates=migrates)


class TestRights:
    @pytest.fixture
    async def weak(self, empty: str) -> AsyncIterator[str]:
        """The URL for a role that may do nothing."""
        role = f"weak_{empty.rpartition('/')[2]}"
        await execute(empty, f"CREATE ROLE {role} LOGIN")
        yield empty.replace("postgres@", f"{role}@")
        await execute(empty, f"DROP OWNED BY {role}", f"DROP ROLE {role}")

    async def test_whoever_may_make_no_schema_is_told_what_to_grant(self, weak: str) -> None:
        """The sentence has both ways out."""
        with pytest.raises(
            StoreUnusableError, match=r"CREATE on the database, or .*CREATE SCHEMA puntual AUTHORIZATION"
        ):
            await migrate(Place(weak))

    async def test_a_schema_that_was_made_for_the_role_is_enough(self, empty: str, weak: str) -> None:
        """No right on the database itself is needed then."""
        role = weak.split("//")[1].partition("@")[0]
        await execute(empty, f"CREATE SCHEMA puntual AUTHORIZATION {role}")
        await open_and_close(weak, migrates=True)
        await open_and_close(weak)

    async def test_whoever_may_not_use_the_schema_is_told_so(self, empty: str, weak: str) -> None:
        """As a role that another one migrated for."""
        await migrate(Place(empty))
        with pytest.raises(StoreUnusableError, match=r"lacks a right \(permission denied for schema puntual"):
            await open_and_close(weak)
