"""The database of a simulated world on PostgreSQL: the real store of each process, and what only a server can do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import asyncpg

from puntual.model.run import NewRun
from puntual.simulate.clocks import SimClock
from puntual.simulate.database import Database
from puntual.simulate.ground import Ground, Watched, aside
from puntual.store.contract import HeartbeatLine, Store
from puntual.store.postgres import PostgresStore, Surroundings
from puntual.store.requests import Beat, BeatReply, Enqueued

if TYPE_CHECKING:
    from asyncpg import Record

T = TypeVar("T")
#: Stores that are open at once; of more processes than these the one that was quiet for longest has ended.
_MOST_STORES: Final = 8
#: As a claim that nobody commits.
_HOLD: Final = """
UPDATE puntual.runs AS r
SET state = 'running', attempt = r.attempt + 1, worker = 'a claim that rolls back', claimed_at = puntual.now_us()
FROM (
    SELECT p.id FROM puntual.runs AS p WHERE p.state = 'pending' ORDER BY p.claim_at, p.id
    LIMIT $1 FOR UPDATE SKIP LOCKED
) AS found
WHERE r.id = found.id
"""


@contextmanager
def databases(url: str) -> Iterator[Callable[[int], Callable[[SimClock], Database]]]:
    """What makes, by their seeds, the databases of simulated worlds, one after another, on the server of this URL.

    Raises:
        PuntualError: it cannot be reached, or its role may not make a database.
    """
    with Ground(url) as ground:
        yield lambda seed: partial(PostgresDatabase, ground=ground, seed=seed)


class PostgresDatabase:
    """As ``puntual.simulate.database.Server``: each process has a store of its own, and remembers what it remembers.

    Args:
        clock: what the database's clock shows.
        ground: where it is.
        seed: of the world; chance of the stores comes from it.
    """

    def __init__(self, clock: SimClock, ground: Ground, *, seed: int) -> None:
        self.clock = clock
        self._ground = ground
        self._seed = seed
        self._place = Watched(url=ground.url)
        self._beating = Watched(url=ground.url)
        self._stores: dict[str, PostgresStore] = {}
        self._line: HeartbeatLine | None = None
        self._bring_back: Callable[[], Awaitable[None]] | None = None
        self._open: list[OpenTransaction] = []
        self._cut = False

    async def open(self) -> None:
        """As ``Database.open``."""
        self._ground.run(self._ground.empty())

    async def close(self) -> None:
        """As ``Database.close``."""
        if self._line is not None:
            with aside():
                self._line.close()
        self._ground.run(self._close())

    def do(self, operation: Callable[[Store], Coroutine[Any, Any, T]], *, who: str = "") -> T:
        """As ``Database.do``."""
        return self._ground.run(self._do(operation, who))

    def beat(self, beat: Beat) -> BeatReply:
        """As ``Database.beat``."""
        self._ground.run(self._ground.tell_time(self.clock.now()))
        if self._line is None:
            self._line = PostgresStore(self._beating).heartbeat_line()
        with aside():
            return self._line.beat(beat)

    def keep(self) -> None:
        """As ``Database.keep``."""
        self._bring_back = self._ground.run(self._ground.keep(self.clock.now()))

    def fail_over(self) -> None:
        """As ``Database.fail_over``; every connection ends, and every open transaction with it."""
        self._ground.run(self._fail_over())

    # What only a server can do

    def cut_next(self) -> None:
        """The connection of the next operation ends after its work, before its commit."""
        self._cut = True

    def begin_enqueue(self, runs: Sequence[NewRun]) -> OpenTransaction:
        """An application enqueues in a transaction of its own, which stays open."""
        return self._ground.run(self._begin(lambda held: held.enqueue(runs)))

    def begin_claim(self, limit: int) -> OpenTransaction:
        """A claim takes up to so many pending runs, and has not committed."""
        return self._ground.run(self._begin(lambda held: held.claim(limit)))

    def lose_days(self) -> bool:
        """No day of history has a place of its own; False where a transaction is in the way."""
        return self._ground.run(self._ground.lose_days(self.clock.now()))

    def lose_lane(self, queue: str) -> None:
        """Nobody has ever written the name of this queue."""
        self._ground.run(self._ground.control.execute("DELETE FROM puntual.lanes WHERE queue = $1", queue))

    def has_lane(self, queue: str) -> bool:
        """Whether claimers look at this queue."""
        found = "SELECT EXISTS (SELECT FROM puntual.lanes WHERE queue = $1)"
        return bool(self._ground.run(self._ground.control.fetchval(found, queue)))

    # On the database's own loop

    async def _do(self, operation: Callable[[Store], Coroutine[Any, Any, T]], who: str) -> T:
        await self._ground.tell_time(self.clock.now())
        store = await self._store(who)
        if not self._cut:
            return await operation(store)
        self._cut = False
        await self._ground.cut_next(armed=True)
        try:
            return await operation(store)
        finally:
            await self._ground.cut_next(armed=False)

    async def _store(self, who: str) -> PostgresStore:
        store = self._stores.pop(who, None)
        if store is None:
            chance = Random(f"{self._seed}:store:{who}").random  # noqa: S311 - a simulation has to be repeatable
            store = PostgresStore(self._place, around=Surroundings(self.clock.steady, chance))
            await store.open()
            if len(self._stores) == _MOST_STORES:
                await self._stores.pop(next(iter(self._stores))).close()
        self._stores[who] = store
        return store

    async def _begin(self, work: Callable[[OpenTransaction], Awaitable[None]]) -> OpenTransaction:
        await self._ground.tell_time(self.clock.now())
        self._open = [one for one in self._open if not one.over]
        held = OpenTransaction(await asyncpg.connect(self._ground.url), await self._store("application"), self._ground)
        self._open.append(held)
        await work(held)
        return held

    async def _fail_over(self) -> None:
        assert self._bring_back is not None, "nothing was kept"
        ending = [one for one in self._place.made if not one.is_closed()]
        await self._ground.end([one.connection for one in self._open])
        await self._ground.end(self._beating.made)
        await self._ground.end(self._place.made)
        for one in ending:
            await _closed(one)
        await self._bring_back()

    async def _close(self) -> None:
        for held in self._open:
            held.connection.terminate()
        for store in self._stores.values():
            await store.close()
        self._stores.clear()


class OpenTransaction:
    """A transaction that stays open on a connection of its own."""

    def __init__(self, connection: asyncpg.Connection[Record], store: Store, ground: Ground) -> None:
        self.connection = connection
        self.over = False
        self._store = store
        self._ground = ground
        self._transaction = connection.transaction()
        self._answers: list[Enqueued] = []

    async def enqueue(self, runs: Sequence[NewRun]) -> None:
        """Takes the steps by which runs join a transaction."""
        await self._transaction.start()
        steps = await self._store.join(runs)
        try:
            statement = next(steps)
            while True:
                statement = steps.send(await self.connection.fetchval(statement.text, *statement.parameters))
        except StopIteration as end:
            self._answers = end.value

    async def claim(self, limit: int) -> None:
        """Takes pending runs, as a claim does."""
        await self._transaction.start()
        await self.connection.execute(_HOLD, limit)

    def end(self, *, commit: bool) -> list[Enqueued] | None:
        """Ends it. Gives what was enqueued; None where nothing was: it rolled back, or the server had gone."""
        self.over = True
        return self._ground.run(self._end(commit=commit))

    async def _end(self, *, commit: bool) -> list[Enqueued] | None:
        try:
            await (self._transaction.commit() if commit else self._transaction.rollback())
            await self.connection.close()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            self.connection.terminate()
            return None
        return self._answers if commit else None


async def _closed(connection: asyncpg.Connection[Record]) -> None:
    """Waits until the connection has been seen to have ended."""
    while not connection.is_closed():  # noqa: ASYNC110 - it is told nobody; it takes a turn or two
        await asyncio.sleep(0)
