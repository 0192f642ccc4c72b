"""The floor: the store's own statements with the same rows, batches and durability, and no Python for each run.

What a statement needs is made beforehand, but for the ids that a settle takes from the claim before it. One connection
executes them, one after another.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Self, TypeVar

import asyncpg

from puntual.bench.load import NOOP
from puntual.model.instant import DAY, MINUTE
from puntual.model.run import NewRun, Priority
from puntual.store.postgres import Place
from puntual.store.postgres.copy import COLUMNS, PLACES, may_be_copied
from puntual.store.postgres.lanes import LOWEST
from puntual.store.postgres.statements import columns, sql
from puntual.store.rows.codec import encode, new_row

_WORKER: Final = "bare"
_BYTES: Final = 64 * 1024 * 1024
_SHARDS: Final = 32
#: How far ahead a claim looks.
_AHEAD_US: Final = 1_500_000
_REGISTER: Final = """
INSERT INTO puntual.workers (
    id, host, pid, roles, tasks, concurrency, version, started_at, seen_at, lease_us, lease_until
)
VALUES ($1, '', 0, '[]', '[]', 100, '', puntual.now_us(), puntual.now_us(), $2, puntual.now_us() + $2)
"""

Part = TypeVar("Part")
Transaction = Callable[[], Awaitable[object]]


class PostgresBare:
    """A database of ours without anything of ours above it."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self._connection = connection
        self._claimed: list[str] = []

    @classmethod
    async def connect(cls, url: str) -> Self:
        """A connection as the store makes it, to a database that is migrated, with a worker."""
        connection = await Place(url=url).connect()
        await connection.execute(_REGISTER, _WORKER, 60 * MINUTE)
        return cls(connection)

    async def close(self) -> None:
        """Closes it."""
        await self._connection.close()

    async def seconds(self, transactions: Sequence[Transaction]) -> float:
        """How long these take, one after another, each committed durably."""
        started = time.perf_counter()
        for transaction in transactions:
            await transaction()
        return time.perf_counter() - started

    def enqueue(self, runs: Sequence[NewRun], batch: int) -> list[Transaction]:
        """Inserts runs, that many in a transaction: by COPY where the store does so."""
        return [
            self._copy(part) if may_be_copied(part) else self._insert([new_row(run) for run in part])
            for part in _parts(runs, batch)
        ]

    def drain(self, runs: Sequence[NewRun], claimed: int, settled: int) -> list[Transaction]:
        """Claims and settles runs that were inserted into an empty database, so many at a time."""
        work: list[Transaction] = []
        for part in _parts(runs, claimed):
            work.append(self._claim(len(part)))
            work += [self._settle(len(some)) for some in _parts(part, settled)]
        return work

    def _copy(self, runs: Sequence[NewRun]) -> Transaction:
        records = [tuple(row[place] for place in PLACES) for row in map(new_row, runs)]

        async def copy() -> None:
            async with self._connection.transaction():
                await self._connection.fetchval(sql("clock"))
                await self._connection.copy_records_to_table(
                    "runs", schema_name="puntual", columns=COLUMNS, records=records
                )

        return copy

    def _insert(self, rows: Sequence[Sequence[object]]) -> Transaction:
        parameters = (None, ["default"], *columns(rows))  # type: ignore[arg-type]  # values of a database, whatever they are
        return lambda: self._connection.fetchval(sql("enqueue_runs"), *parameters)

    def _claim(self, count: int) -> Transaction:
        """From the lanes of one priority, shard by shard."""
        lanes = [shard * 4 + Priority.NORMAL for shard in range(_SHARDS)]
        shares = [count if priority is Priority.NORMAL else 0 for priority in Priority]
        parameters = (_WORKER, _AHEAD_US, [NOOP], encode(["default"]), lanes, [LOWEST] * _SHARDS, shares, _BYTES)

        async def claim() -> None:
            self._claimed += [row["id"] for row in await self._connection.fetch(sql("claim_near"), *parameters)]

        return claim

    def _settle(self, count: int) -> Transaction:
        """Ends what was claimed first, as succeeded."""
        story = encode([{"n": 1, "worker": _WORKER, "started_at": 1, "finished_at": 1, "outcome": "succeeded"}])
        now = time.time_ns() // 1000  # noqa: TID251 - a benchmark goes by the machine's clock
        ended = (1, _WORKER, False, "succeeded", None, now, now, 0, 0, 0, story, None, now // DAY + 7)
        values = columns([ended] * count)

        async def settle() -> None:
            ids, self._claimed = sorted(self._claimed[:count]), self._claimed[count:]
            await self._connection.fetchrow(sql("end_runs"), None, ids, *values)

        return settle


def _parts(items: Sequence[Part], size: int) -> Iterator[Sequence[Part]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
