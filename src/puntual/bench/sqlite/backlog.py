"""Large tables, filled by SQLite itself: runs that are due in a year, and history."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Final

from puntual.bench.load import NOOP
from puntual.store.sqlite.connection import connect

_YEAR_US: Final = 365 * 86_400_000_000

#: Due in a year, a second apart, in one lane with the runs that are measured.
_FUTURE: Final = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO runs (id, task, args, queue, priority, origin, due_at, claim_at, created_at, max_attempts)
SELECT
    printf('ffffffff-0000-7000-8000-%012x', i), ?2, '{"i":1}', ?3, 2, 'event', ?4 + i * 1000000, ?4 + i * 1000000, ?5, 5
FROM n
"""

_HISTORY: Final = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO run_history (
    id, task, args, queue, priority, state, reason, origin, due_at, claim_at, created_at, started_at, finished_at,
    attempt, max_attempts, released, interrupted, lost, worker, claimed_at, cancel_requested, tags, policy, attempts,
    result, expires_on
)
SELECT
    printf('00000000-0000-7000-8000-%012x', i), iif(i % 3, ?2, 'bench.other'), '{"i":1}', 'queue-' || (i % 10), i % 4,
    iif(i % 100, 'succeeded', 'dead'), iif(i % 100, NULL, 'error'), 'event', ?3 + i * 1000, ?3 + i * 1000,
    ?3 + i * 1000, ?3 + i * 1000, ?3 + i * 1000, 1, 5, 0, 0, 0, 'worker', ?3 + i * 1000, 0,
    '["bench"]', '{}', '[]', NULL, 30000
FROM n
"""


def add_future(path: str, count: int, now: int, queue: str = "default") -> None:
    """Adds pending runs that are not due while anything is measured."""
    _fill(path, _FUTURE, (count, NOOP, queue, now + _YEAR_US, now))


def add_history(path: str, count: int, now: int) -> None:
    """Adds finished runs: ten queues, two tasks, one in a hundred dead."""
    _fill(path, _HISTORY, (count, NOOP, now - count * 1000))


def _fill(path: str, statement: str, parameters: tuple[int | str, ...]) -> None:
    connection: sqlite3.Connection = connect(path, cache_kb=64 * 1024)
    with closing(connection):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(statement, parameters)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
