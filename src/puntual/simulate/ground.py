"""A PostgreSQL database that one simulation after another stands on, empty each time; its clock is the simulation's.

It is a database of its own beside the one that a URL names, made and dropped here. All that is done on it is done on a
real event loop, which has the thread while the virtual one, and virtual time, stand still.
"""

from __future__ import annotations

import asyncio
import secrets
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import asyncpg
import msgspec

from puntual.simulate.clocks import START
from puntual.store.postgres import Place
from puntual.store.postgres.errors import CAUGHT, translate
from puntual.store.postgres.migrate import migrate
from puntual.store.postgres.partitions import date_of, days, make_days
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Retention

if TYPE_CHECKING:
    from asyncpg import Record

T = TypeVar("T")
Connection = asyncpg.Connection

#: The database's clock shows what we tell it; and a connection can be made to end after its work, before its commit.
#: Sequences, because what they are set to holds at once and for everybody, and without a transaction's number.
_PREPARED: Final = """
CREATE SCHEMA simulated;
CREATE SEQUENCE simulated.clock;
CREATE SEQUENCE simulated.cut;
CREATE OR REPLACE FUNCTION puntual.now_us() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT pg_sequence_last_value('simulated.clock'::regclass) $$;
CREATE FUNCTION simulated.cut_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM setval('simulated.cut', 1);
    PERFORM pg_terminate_backend(pg_backend_pid());
    PERFORM pg_sleep(60);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER cut_off AFTER INSERT OR UPDATE OR DELETE ON puntual.runs DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (pg_sequence_last_value('simulated.cut'::regclass) = 2) EXECUTE FUNCTION simulated.cut_off();
"""
_TABLES: Final = """
SELECT c.relname AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE
    c.relnamespace = 'puntual'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname <> 'schema_migrations' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
GROUP BY c.relname ORDER BY c.relname
"""
#: Where rows lie decides among equals: they lie where they did in every replay, and nobody clears up when it likes.
_HEAPS: Final = """
SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'puntual'::regnamespace AND relkind = 'r'
"""
#: Of a table with parts only those that hold anything: emptying one takes as long as making it.
_FILLED: Final = """
SELECT DISTINCT tableoid::regclass::text AS name FROM puntual.run_history
UNION ALL SELECT DISTINCT tableoid::regclass::text FROM puntual.attempt_responses
"""
_PARTED: Final = ("run_history", "attempt_responses")
#: What waits for a lock waits in real time, while virtual time stands still.
_LOCK_TIMEOUT: Final = "200ms"
_RETENTION: Final = Retention()
_TO_END_MS: Final = 5_000


class Watched(Place, frozen=True):
    """A place that knows which connections it has made."""

    made: list[Connection] = msgspec.field(default_factory=list)

    async def connect(self, *, patience: float | None = None, answer: float = 35.0) -> Connection[Record]:
        """As ``Place.connect``; nobody waits for a lock for long."""
        connection = await super().connect(patience=patience, answer=answer)
        await connection.execute(f"SET lock_timeout = '{_LOCK_TIMEOUT}'")
        self.made.append(connection)
        return connection


class Ground:
    """Use as a context manager: the database is there inside.

    Args:
        url: of a database on the server; the role must be allowed to make others.
    """

    def __init__(self, url: str) -> None:
        self._near = Place(url=url)
        # Nothing of it is taken from the near one's name, which may be of any length and have any characters.
        self._name = f"puntual_simulated_{secrets.token_hex(6)}"
        self.url = urlsplit(url)._replace(path=f"/{self._name}").geturl()
        self._loop = asyncio.new_event_loop()
        self._control: Connection[Record] | None = None
        self._tables: dict[str, str] = {}
        self._days: frozenset[int] = frozenset()
        self._told = 0

    def __enter__(self) -> Self:
        try:
            self.run(self._make())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.run(self._drop())
        finally:
            self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Does this on the database's own loop."""
        with aside():
            return self._loop.run_until_complete(work)

    @property
    def control(self) -> Connection[Record]:
        """The connection of the simulation's own hand."""
        assert self._control is not None, "the ground is not open"
        return self._control

    async def tell_time(self, now: int) -> None:
        """From now on the database's clock shows this."""
        if now != self._told:
            self._told = now
            await self.control.fetchval("SELECT setval('simulated.clock', $1)", now)

    async def cut_next(self, *, armed: bool) -> None:
        """The next transaction that writes a run loses its connection before it commits; or no longer."""
        await self.control.fetchval("SELECT setval('simulated.cut', $1)", 2 if armed else 1)

    async def end(self, connections: list[Connection]) -> None:
        """Ends these connections as the server does when it goes, and forgets them."""
        alive = [one for one in connections if not one.is_closed()]
        connections.clear()
        for one in alive:
            await self.control.fetchval("SELECT pg_terminate_backend($1, $2)", one.get_server_pid(), _TO_END_MS)

    # What is on it

    async def empty(self) -> None:
        """Nothing is on it, and the days are those that a first process makes."""
        async with self.control.transaction():
            await self._clear()
            await self._put_days(self._days, START)

    async def keep(self, now: int) -> Callable[[], Awaitable[None]]:
        """Sets aside all that is committed, and gives what brings it back; nobody else may be on it then."""
        async with self.control.transaction():
            await self.control.execute(f"TRUNCATE {', '.join(f'simulated.kept_{name}' for name in self._tables)}")
            for name, columns in self._tables.items():
                await self.control.execute(
                    f"INSERT INTO simulated.kept_{name} ({columns}) SELECT {columns} FROM puntual.{name}"  # noqa: S608 - ours
                )
            there = frozenset(await days(self._tx(now)))

        async def bring_back() -> None:
            async with self.control.transaction():
                await self._clear()
                await self._put_days(there, now)
                for name, columns in self._tables.items():
                    await self.control.execute(
                        f"INSERT INTO puntual.{name} ({columns}) SELECT {columns} FROM simulated.kept_{name}"  # noqa: S608 - ours
                    )

        return bring_back

    async def lose_days(self, now: int) -> bool:
        """No day of history was made: all of it lies among the strays. False where somebody has one in use."""
        try:
            async with self.control.transaction():
                there = await days(self._tx(now))
                filled = {name for (name,) in await self.control.fetch(_FILLED)}
                for day in there:
                    await self._lose(day, filled)
        except asyncpg.LockNotAvailableError:
            return False
        return True

    async def _lose(self, day: int, filled: set[str]) -> None:
        for table in _PARTED:
            part = f"puntual.{table}_{date_of(day)}"
            if part in filled:
                await self.control.execute(f"ALTER TABLE puntual.{table} DETACH PARTITION {part}")
                await self.control.execute(f"INSERT INTO puntual.{table} SELECT * FROM {part}")  # noqa: S608 - ours
            await self.control.execute(f"DROP TABLE {part}")

    async def _clear(self) -> None:
        filled = {name for (name,) in await self.control.fetch(_FILLED)}
        filled |= {f"puntual.{name}" for name in self._tables if name not in _PARTED}
        await self.control.execute(f"TRUNCATE {', '.join(sorted(filled))}")

    async def _put_days(self, wanted: frozenset[int], now: int) -> None:
        """These days have parts of their own, and no others; all of them are empty."""
        there = set(await days(self._tx(now)))
        if wanted - there:
            await make_days(self._tx(now))
            there = set(await days(self._tx(now)))
        for day in sorted(there - wanted):
            for table in _PARTED:
                await self.control.execute(f"DROP TABLE puntual.{table}_{date_of(day)}")

    def _tx(self, now: int) -> Tx:
        return Tx(self.control, _RETENTION, given=now, now=now)

    # The database itself

    async def _make(self) -> None:
        await self._at_home(f"CREATE DATABASE {self._name} TEMPLATE template0 ENCODING 'UTF8'")
        place = Watched(url=self.url)
        await migrate(place)
        self._control = control = await place.connect()
        try:
            await control.execute(_PREPARED)
            async with control.transaction():
                await make_days(self._tx(START))
            self._days = frozenset(await days(self._tx(START)))
            self._tables = {row["name"]: row["columns"] for row in await control.fetch(_TABLES)}
            for (name,) in await control.fetch(_HEAPS):
                await control.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = off)")
            for name, columns in self._tables.items():
                await control.execute(
                    f"CREATE UNLOGGED TABLE simulated.kept_{name} AS SELECT {columns} FROM puntual.{name} WITH NO DATA"  # noqa: S608 - ours
                )
        except CAUGHT as error:
            raise translate(error) from error

    async def _drop(self) -> None:
        if self._control is not None:
            await self._control.close()
        await self._at_home(f"DROP DATABASE IF EXISTS {self._name} WITH (FORCE)")

    async def _at_home(self, statement: str) -> None:
        connection = await self._near.connect()
        try:
            await connection.execute(statement)
        except CAUGHT as error:
            raise translate(error) from error
        finally:
            await connection.close()


@contextmanager
def aside() -> Iterator[None]:
    """Lets another event loop run in here, though one runs on this thread."""
    # How a loop that is not asyncio's own says what runs: asyncio's guide to extending it.
    running = asyncio._get_running_loop()  # noqa: SLF001 - as above
    task = None if running is None else asyncio.current_task(running)
    if running is not None and task is not None:
        _leave_task(running, task)
    asyncio._set_running_loop(None)  # noqa: SLF001 - as above
    try:
        yield
    finally:
        asyncio._set_running_loop(running)  # noqa: SLF001 - as above
        if running is not None and task is not None:
            _enter_task(running, task)
