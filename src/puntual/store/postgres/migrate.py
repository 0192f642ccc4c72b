"""Migrations: numbered SQL files, each applied once, in order, each in a transaction under a lock of the database.

A migration is applied while processes of the release before still run. It holds a table for a moment only: where that
is in use it is tried again, so that it never stands in a line before which everybody else waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import SystemRandom
from typing import Final

import asyncpg
import msgspec

from puntual.model.errors import PuntualError, StoreBusyError, StoreUnusableError
from puntual.store import migration
from puntual.store.migration import Applied, Migration, Schema, compare, outdated
from puntual.store.postgres import partitions
from puntual.store.postgres.errors import CAUGHT, translate
from puntual.store.postgres.place import Place
from puntual.store.postgres.pool import Connection
from puntual.store.postgres.session import Session

#: Seconds that one migration may take.
_LONGEST: Final = 3600.0
#: How often a migration is tried that meets a table in use, and seconds between, at most.
_TRIES: Final = 30
_PAUSE: Final = 2.0
_LOCK: Final = "SELECT pg_advisory_xact_lock(8389765496484391020)"
_PATIENTLY: Final = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10min'"
_BRIEFLY: Final = "SET LOCAL lock_timeout = '2s'"
LEDGER: Final = """
CREATE TABLE puntual.schema_migrations (
    version integer NOT NULL PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    oldest integer NOT NULL,
    applied_at bigint NOT NULL
)
"""
_RECORD: Final = """
INSERT INTO puntual.schema_migrations (version, name, checksum, oldest, applied_at)
VALUES ($1::integer, $2::text, $3::text, $4::integer, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
"""
_APPLIED: Final = "SELECT version, checksum, oldest FROM puntual.schema_migrations"
_STANDING: Final = """
SELECT
    to_regnamespace('puntual') IS NOT NULL AS schema, to_regclass('puntual.schema_migrations') IS NOT NULL AS ledger,
    EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relnamespace = to_regnamespace('puntual')) AS anything
"""


class Opening(msgspec.Struct, frozen=True):
    """What opening may do to a database.

    Args:
        migrate: make our schema where there is none, and bring one that is there up to date.
    """

    migrate: bool = False


def shipped() -> list[Migration]:
    """The migrations that come with this code."""
    return migration.shipped("postgres")


async def prepare(session: Session, place: Place, opening: Opening) -> None:
    """Checks the schema, and brings it up to date where that is allowed.

    Raises:
        StoreUnusableError: the schema is none that this code works with, or not ours, or may not be used.
    """
    if opening.migrate:
        await migrate(place)
        # Where one is in use, the upkeep makes the days.
        with suppress(StoreBusyError):
            await session.write(partitions.make_days)
        return
    steps = shipped()
    schema = await session.single(lambda tx: _schema(tx.connection, place, steps))
    if not schema.version:
        raise StoreUnusableError(f"The database {place.name} has no schema of puntual yet: `puntual migrate` makes it.")
    if schema.missing:
        raise outdated(schema, database=f"The database {place.name}")


async def look(place: Place, steps: Sequence[Migration] | None = None) -> Schema:
    """The schema of the database, which is left as it is.

    Raises:
        StoreUnusableError: as `prepare`, but for what is only missing.
    """
    connection = await place.connect()
    try:
        async with connection.transaction():
            return await _schema(connection, place, shipped() if steps is None else steps)
    except CAUGHT as error:
        raise translate(error) from error
    finally:
        await connection.close()


async def migrate(place: Place, steps: Sequence[Migration] | None = None) -> list[Migration]:
    """Applies what is missing, one process after another, and gives what was applied by this one.

    Raises:
        StoreUnusableError: as `prepare`.
        StoreBusyError: a table was in use all the time.
    """
    wanted = shipped() if steps is None else steps
    connection = await place.connect(answer=_LONGEST)
    done: list[Migration] = []
    tries = 0
    try:
        while True:
            try:
                if (step := await _apply_next(connection, place, wanted)) is None:
                    return done
            except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError) as error:
                tries += 1
                if tries == _TRIES:
                    raise _in_use(place) from error
                await asyncio.sleep(_PAUSE * SystemRandom().random())
            else:
                done.append(step)
    except CAUGHT as error:
        raise _refused(error, place) from error
    finally:
        await connection.close()


async def _apply_next(connection: Connection, place: Place, steps: Sequence[Migration]) -> Migration | None:
    async with connection.transaction():
        await connection.execute(_PATIENTLY)
        await connection.execute(_LOCK)
        await connection.execute(_BRIEFLY)
        missing = (await _schema(connection, place, steps)).missing
        if not missing:
            return None
        standing = await connection.fetchrow(_STANDING)
        assert standing is not None
        if not standing["schema"]:
            # Where somebody with more rights has made it for us, making it anew would be refused.
            await connection.execute("CREATE SCHEMA puntual")
        if not standing["ledger"]:
            await connection.execute(LEDGER)
        step = missing[0]
        await connection.execute(step.text)
        await connection.execute(_RECORD, step.version, step.name, step.checksum, step.oldest)
        return step


async def _schema(connection: Connection, place: Place, steps: Sequence[Migration]) -> Schema:
    standing = await connection.fetchrow(_STANDING)
    assert standing is not None
    if standing["anything"] and not standing["ledger"]:
        raise StoreUnusableError(
            f"The schema puntual of the database {place.name} is of another program: name another database."
        )
    rows = await connection.fetch(_APPLIED) if standing["ledger"] else ()
    return compare([Applied(*row) for row in rows], steps, database=f"The database {place.name}")


def _in_use(place: Place) -> StoreBusyError:
    return StoreBusyError(
        f"A table of the database {place.name} was in use for too long to be changed: end long transactions, try again."
    )


def _refused(error: Exception, place: Place) -> PuntualError:
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return StoreUnusableError(
            f"The role that DATABASE_URL names may not make or change the schema puntual of the database {place.name} "
            f"({error}): grant it CREATE on the database, or make the schema for it with `CREATE SCHEMA puntual "
            "AUTHORIZATION ...`."
        )
    return translate(error)
