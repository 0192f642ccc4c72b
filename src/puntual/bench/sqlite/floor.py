"""The floor: the store's own statements with the same rows, batches and durability, and no Python for each run.

Everything that a statement needs is made beforehand; what is timed is one thread that executes them on one connection.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

from puntual.bench.load import NOOP
from puntual.engine.clock import SystemClock
from puntual.model.run import NewRun
from puntual.store.rows.codec import SqlValue, encode, new_row
from puntual.store.sqlite.checkpoint import Checkpointer
from puntual.store.sqlite.connection import connect
from puntual.store.sqlite.migrate import migrate
from puntual.store.sqlite.statements import batches, sql

_CACHE_KB: Final = 16 * 1024
_WORKER: Final = "bare"
#: How far ahead a claim looks.
_AHEAD_US: Final = 1_500_000

Part = TypeVar("Part")
Statement = tuple[str, Sequence[SqlValue]]
Transaction = list[Statement]


class SqliteBare:
    """A database of ours without anything of ours above it."""

    def __init__(self, path: str) -> None:
        clock = SystemClock()
        self.now: Final = clock.now()
        self._connection = connect(path, cache_kb=_CACHE_KB)
        self._checkpointer = Checkpointer(path)
        migrate(self._connection, path, now=self.now)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    async def seconds(self, transactions: Sequence[Transaction]) -> float:
        """How long these take, one after another, each committed durably."""
        started = time.perf_counter()
        for transaction in transactions:
            self.commit(transaction)
        return time.perf_counter() - started

    def commit(self, transaction: Transaction) -> None:
        """One transaction."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        for statement, parameters in transaction:
            execute(statement, parameters).fetchone()
        execute("COMMIT")
        self._checkpointer.committed(self._connection)

    def enqueue(self, runs: Sequence[NewRun], batch: int) -> list[Transaction]:
        """Inserts runs, that many in a transaction."""
        rows = [new_row(run) for run in runs]
        return [
            [*_rows("enqueue_known", [row[:1] for row in part]), *_rows("enqueue_runs", part, self.now)]
            for part in _parts(rows, batch)
        ]

    def claim(self, seqs: Sequence[int]) -> Transaction:
        """Claims these runs, which head their lane."""
        picked = encode(list(seqs))
        until = self.now + _AHEAD_US
        return [
            (sql("claim_lanes"), [_WORKER, until, len(seqs), encode([NOOP, "http", "command"]), None]),
            (sql("claim_runs"), [picked, _WORKER, self.now]),
            (sql("claim_read"), [picked]),
        ]

    def settle(self, runs: Sequence[tuple[int, str]]) -> Transaction:
        """Ends claimed runs, given by place and id, as succeeded."""
        story = encode([{"n": 1, "worker": _WORKER, "started_at": self.now, "finished_at": self.now, "outcome": "ok"}])
        ended = [
            (seq, "succeeded", None, self.now, self.now, 0, 0, 0, story, None, self.now // 86_400_000_000 + 7)
            for seq, _ in runs
        ]
        return [
            *_rows("settle_guard", [(id, 1, _WORKER, 0) for _, id in runs]),
            *_rows("end_runs", ended),
            (sql("end_delete"), [encode([seq for seq, _ in runs])]),
        ]

    def drain(self, runs: Sequence[NewRun], claimed: int, settled: int) -> list[Transaction]:
        """Claims and settles runs that were inserted into an empty database, so many at a time.

        Args:
            runs: as they were inserted, their place is their number.
            claimed: how many a claim takes.
            settled: how many a settle writes.
        """
        placed = [(seq, run.id) for seq, run in enumerate(runs, 1)]
        work: list[Transaction] = []
        for part in _parts(placed, claimed):
            work.append(self.claim([seq for seq, _ in part]))
            work += [self.settle(some) for some in _parts(part, settled)]
        return work


def _rows(name: str, rows: Sequence[Sequence[SqlValue]], *parameters: SqlValue) -> list[Statement]:
    return [(statement, [*flat, *parameters]) for statement, flat in batches(name, rows)]


def _parts(items: Sequence[Part], size: int) -> Iterator[Sequence[Part]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
