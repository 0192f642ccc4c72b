from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import asyncpg
import pytest

from puntual.model.errors import StoreBusyError, StoreDataError, StoreUnavailableError, StoreUnusableError
from puntual.store.postgres import Place
from puntual.store.postgres.errors import AGAIN
from puntual.store.postgres.session import Session
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Retention


@asynccontextmanager
async def opened(url: str, *, most: int = 10, answer: float | None = None) -> AsyncIterator[Session]:
    """An open session; ``answer`` is how long it waits for one, seconds."""
    place = Place(url, most=most)
    session = Session(place, Retention())
    await session.open()
    assert session._pool is not None
    if answer is not None:
        await (await session._pool.acquire()).close()
        session._pool._connect = lambda: place.connect(answer=answer)
    try:
        yield session
    finally:
        await session.close()


@pytest.fixture
async def session(url: str) -> AsyncIterator[Session]:
    """An open session, whose transactions have a table of numbers to write to."""
    async with opened(url) as session:
        await session.single(lambda tx: tx.connection.execute("CREATE TABLE numbers (n integer PRIMARY KEY)"))
        yield session


async def numbers(session: Session) -> list[int]:
    """What is in the table."""
    rows = await session.single(lambda tx: tx.connection.fetch("SELECT n FROM numbers ORDER BY n"))
    return [row["n"] for row in rows]


async def insert(tx: Tx, number: int) -> None:
    """Writes a number."""
    await tx.connection.execute("INSERT INTO numbers VALUES ($1)", number)


async def pids(session: Session, count: int) -> set[int]:
    """The server's processes that serve this session, when it makes that many connections at once."""
    together = asyncio.Barrier(count)

    async def one(tx: Tx) -> int:
        pid: int = await tx.connection.fetchval("SELECT pg_backend_pid()")
        await together.wait()
        return pid

    return set(await asyncio.gather(*(session.single(one) for _ in range(count))))


async def _pid(tx: Tx) -> int:
    pid: int = await tx.connection.fetchval("SELECT pg_backend_pid()")
    return pid


async def end(url: str, found: set[int]) -> None:
    """Cuts these connections, as an operator or a failover does."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::integer[]) AS pid", list(found))
        await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1::integer[])", list(found))
    finally:
        await connection.close()


class TestTransactions:
    async def test_a_failed_operation_leaves_nothing(self, session: Session) -> None:
        """What it had written is undone, and its connection serves the next one."""

        async def fail(tx: Tx) -> None:
            await insert(tx, 1)
            raise KeyError

        with pytest.raises(KeyError):
            await session.write(fail)
        assert await numbers(session) == []

    @pytest.mark.parametrize("kind", AGAIN)
    async def test_what_the_database_asks_for_is_done_again_whole(
        self, session: Session, kind: type[Exception]
    ) -> None:
        """A deadlock, or a transaction that cannot be put in order, is begun anew."""
        tries = 0

        async def twice(tx: Tx) -> None:
            nonlocal tries
            tries += 1
            await insert(tx, 1)
            if tries == 1:
                raise kind("again")

        await session.write(twice)
        assert (tries, await numbers(session)) == (2, [1])

    async def test_two_that_wait_for_each_other_both_come_through(self, session: Session) -> None:
        """A real deadlock costs one of them a second try, and nobody hears of it."""
        await session.single(lambda tx: tx.connection.execute("INSERT INTO numbers VALUES (1), (2)"))
        both = asyncio.Barrier(2)
        tries = 0

        async def cross(tx: Tx, first: int, second: int) -> None:
            nonlocal tries
            tries += 1
            lock = "SELECT n FROM numbers WHERE n = $1 FOR UPDATE"
            await tx.connection.execute(lock, first)
            if tries <= 2:
                await both.wait()
            await tx.connection.execute(lock, second)

        await asyncio.gather(session.write(lambda tx: cross(tx, 1, 2)), session.write(lambda tx: cross(tx, 2, 1)))
        assert tries == 3

    async def test_what_deadlocks_every_time_is_given_up(self, session: Session) -> None:
        """With an error that says that another try may succeed."""

        async def never(tx: Tx) -> None:
            raise asyncpg.DeadlockDetectedError("again")

        with pytest.raises(StoreBusyError):
            await session.write(never)

    async def test_a_table_that_was_changed_meanwhile_costs_nothing(self, url: str, session: Session) -> None:
        """A migration of the next release ends what was prepared; the operation is done again."""

        async def read(tx: Tx) -> list[asyncpg.Record]:
            return await tx.connection.fetch("SELECT * FROM numbers")

        found = await pids(session, 3)
        await asyncio.gather(*(session.write(read) for _ in found))
        connection = await asyncpg.connect(url)
        await connection.execute("ALTER TABLE numbers ADD COLUMN more integer")
        await connection.close()
        await asyncio.gather(*(session.write(read) for _ in found))

    async def test_time_is_given_or_the_databases(self, session: Session) -> None:
        """Each of the three ways goes by the time that it was given."""

        async def time(tx: Tx) -> tuple[int | None, int]:
            return tx.given, tx.now

        assert await session.write(time, now=5) == (5, 5)
        assert await session.single(time, now=5) == (5, 5)
        assert await session.single(time) == (None, 0)
        assert await session.read(time, now=5) == (5, 5)
        given, now = await session.write(time)
        assert given is None
        assert now <= (await session.read(time))[1]

    @pytest.mark.parametrize("value", ["a\0b", "\ud800", 2**63])
    async def test_a_value_that_cannot_be_kept_is_refused(self, session: Session, value: object) -> None:
        """The error says that it is the value's fault, and the connection is kept."""
        kind = "bigint" if isinstance(value, int) else "text"
        with pytest.raises(StoreDataError):
            await session.write(lambda tx: tx.connection.fetchval(f"SELECT $1::{kind}", value))
        assert len(await pids(session, 1)) == 1

    async def test_a_statement_that_takes_too_long_is_ended(self, session: Session) -> None:
        """The server ends it, and the connection goes on."""

        async def slow(tx: Tx) -> None:
            await tx.connection.execute("SET LOCAL statement_timeout = '10ms'")
            await tx.connection.execute("SELECT pg_sleep(60)")

        before = await pids(session, 1)
        with pytest.raises(StoreUnavailableError, match="took longer than we wait"):
            await session.write(slow)
        assert await pids(session, 1) == before

    async def test_missing_rights_and_tables_are_told_apart(self, session: Session) -> None:
        """Each names what is to be done."""
        await session.single(lambda tx: tx.connection.execute("CREATE ROLE stranger"))

        async def as_stranger(tx: Tx) -> None:
            await tx.connection.execute("SET LOCAL ROLE stranger")
            await tx.connection.execute("SELECT * FROM puntual.runs")

        try:
            with pytest.raises(StoreUnusableError, match="lacks a right"):
                await session.write(as_stranger)
            with pytest.raises(StoreUnusableError, match="puntual migrate --check"):
                await session.single(lambda tx: tx.connection.fetchval("SELECT * FROM puntual.nothing"))
        finally:
            await session.single(lambda tx: tx.connection.execute("DROP ROLE stranger"))


class TestConnections:
    async def test_the_connection_used_last_is_used_next(self, session: Session) -> None:
        """So that those that a burst made are left alone, and closed in time."""
        await pids(session, 4)
        used = [await pids(session, 1) for _ in range(5)]
        assert len(set.union(*used)) == 1

    async def test_there_are_never_more_than_allowed_and_whoever_waits_is_served_in_turn(self, url: str) -> None:
        """Nobody who comes later is served before."""
        async with opened(url, most=2) as session:
            made = await pids(session, 2)
            order: list[int] = []
            seen: set[int] = set()

            async def one(tx: Tx, number: int) -> None:
                order.append(number)
                seen.add(await _pid(tx))

            await asyncio.gather(*(session.single(partial(one, number=n)) for n in range(20)))
            assert seen == made
            assert order == list(range(20))

    async def test_whoever_waits_too_long_for_a_connection_is_told(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The error says that all are in use, and the next one gets what is given back."""
        monkeypatch.setattr("puntual.store.postgres.pool._PATIENCE", 0.01)
        async with opened(url, most=1) as session:
            hold, held = asyncio.Event(), asyncio.Event()

            async def keep(tx: Tx) -> None:
                held.set()
                await hold.wait()

            keeping = asyncio.create_task(session.single(keep))
            await held.wait()
            with pytest.raises(StoreBusyError, match="All 1 connections"):
                await pids(session, 1)
            hold.set()
            await keeping
            assert len(await pids(session, 1)) == 1

    async def test_a_server_that_takes_no_more_connections_is_worked_with(self, url: str, session: Session) -> None:
        """Those that are there are shared; only who has none at all is told."""
        await session.single(lambda tx: tx.connection.execute("CREATE ROLE two LOGIN CONNECTION LIMIT 2"))
        theirs = url.replace("postgres@", "two@")
        try:
            async with opened(theirs) as crowded:
                await pids(crowded, 2)
                assert len(set(await asyncio.gather(*(crowded.single(_pid) for _ in range(30))))) == 2
                with pytest.raises(StoreUnavailableError, match="has no connection left"):
                    await Session(Place(theirs), Retention()).open()
        finally:
            await session.single(lambda tx: tx.connection.execute("DROP ROLE two"))

    async def test_an_operation_is_not_taken_back_by_its_caller(self, session: Session) -> None:
        """Cancelling who waits for it leaves it to its end."""
        begun = asyncio.Event()

        async def slow(tx: Tx) -> None:
            begun.set()
            await tx.connection.execute("SELECT pg_sleep(0.01)")
            await insert(tx, 1)

        task = asyncio.create_task(session.write(slow))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.gather(*session._tasks)
        assert await numbers(session) == [1]

    async def test_closing_finishes_what_was_accepted(self, url: str, session: Session) -> None:
        """Also the later transactions of an operation that has several."""

        async def several() -> None:
            for number in range(3):
                await session.write(partial(insert, number=number))

        task = asyncio.create_task(several())
        await asyncio.sleep(0)
        await session.close()
        await task
        with pytest.raises(StoreUnavailableError, match="not open"):
            await numbers(session)
        async with opened(url) as other:
            assert await numbers(other) == [0, 1, 2]

    async def test_what_a_transaction_left_open_is_not_passed_on(self, session: Session) -> None:
        """Nobody finds himself inside another's transaction."""
        before = await pids(session, 1)
        await session.single(lambda tx: tx.connection.execute("BEGIN"))
        assert await pids(session, 1) != before


class TestLostServer:
    async def test_connections_that_were_cut_are_made_anew(self, url: str, session: Session) -> None:
        """One operation may fail; whoever remembers something of the server is told to forget it."""
        lost: list[None] = []
        session.lost.append(lambda: lost.append(None))
        found = await pids(session, 3)

        async def cut(tx: Tx) -> None:
            await end(url, found)
            await tx.connection.fetchval("SELECT 1")

        with pytest.raises(StoreUnavailableError):
            await session.write(cut)
        assert lost == [None]
        assert not found & await pids(session, 3)

    async def test_a_lost_server_is_left_once_however_many_notice(self, url: str, session: Session) -> None:
        """Whoever comes late does not give up the connections to the next one."""
        lost: list[None] = []
        session.lost.append(lambda: lost.append(None))
        found = await pids(session, 3)
        together, cut = asyncio.Barrier(3), asyncio.Event()

        async def use(tx: Tx) -> None:
            if await together.wait() == 0:
                await end(url, found)
                cut.set()
            await cut.wait()
            await tx.connection.fetchval("SELECT 1")

        errors = await asyncio.gather(*(session.write(use) for _ in found), return_exceptions=True)
        assert {type(error) for error in errors} == {StoreUnavailableError}
        assert lost == [None]

    async def test_a_connection_that_is_cut_while_it_rests_is_not_given_out(self, url: str, session: Session) -> None:
        """Nobody hears of it, but whoever remembers something of a server that may be another one now."""
        lost: list[None] = []
        session.lost.append(lambda: lost.append(None))
        found = await pids(session, 3)
        assert session._pool is not None
        resting = [connection for connection, _ in session._pool._idle]
        await end(url, found)
        for connection in resting:
            while not connection.is_closed():  # noqa: ASYNC110 - asyncpg's own listener for this runs before its flag is set
                await asyncio.sleep(0.001)
        assert not found & await pids(session, 3)
        assert lost == [None]

    async def test_a_server_that_became_read_only_is_left(self, session: Session) -> None:
        """As after a failover: each connection leads to what is now a standby."""
        before = await pids(session, 3)
        lost: list[None] = []
        session.lost.append(lambda: lost.append(None))

        async def write(tx: Tx) -> None:
            await tx.connection.execute("SET LOCAL transaction_read_only = on")
            await insert(tx, 1)

        with pytest.raises(StoreUnavailableError, match="standby"):
            await session.write(write)
        assert lost == [None]
        assert not before & await pids(session, 3)

    async def test_a_server_that_does_not_answer_is_not_waited_for(self, url: str) -> None:
        """A line on which nothing comes back holds nobody for longer than an answer may take, not even to roll back."""
        async with opened(url, answer=0.2) as session:
            (pid,) = await pids(session, 1)

            async def frozen(tx: Tx) -> None:
                os.kill(pid, signal.SIGSTOP)
                await tx.connection.fetchval("SELECT 1")

            try:
                async with asyncio.timeout(10):
                    with pytest.raises(StoreUnavailableError, match="took longer"):
                        await session.write(frozen)
                    assert await pids(session, 1) != {pid}
            finally:
                os.kill(pid, signal.SIGCONT)

    async def test_while_there_is_no_server_each_operation_says_so(
        self, session: Session, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And when it is back nothing has to be opened anew."""
        assert session._pool is not None
        connect = session._pool._connect

        async def refuse() -> asyncpg.Connection[asyncpg.Record]:
            raise StoreUnavailableError("gone")

        monkeypatch.setattr(session._pool, "_connect", refuse)
        connection = await session._pool.acquire()
        session._pool.renew(connection)
        session._pool.release(connection)
        errors = await asyncio.gather(*(numbers(session) for _ in range(30)), return_exceptions=True)
        assert {type(error) for error in errors} == {StoreUnavailableError}
        monkeypatch.setattr(session._pool, "_connect", connect)
        assert len(await pids(session, 10)) == 10
