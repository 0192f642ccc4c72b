"""Large tables, filled by PostgreSQL itself: runs that are due in a year, and history."""

from __future__ import annotations

from typing import Final

import asyncpg

from puntual.bench.load import NOOP

_YEAR_US: Final = 365 * 86_400_000_000

_LANES: Final = "INSERT INTO puntual.lanes (queue) VALUES ('default') ON CONFLICT DO NOTHING"
#: Due in a year, a second apart, in the lanes of the runs that are measured.
_FUTURE: Final = """
INSERT INTO puntual.runs (id, task, args, queue, priority, origin, due_at, claim_at, created_at, max_attempts)
SELECT
    ('ffffffff-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, $2, '{"i":1}', 'default', 2, 'event',
    $3::bigint + i::bigint * 1000000, $3::bigint + i::bigint * 1000000, $4::bigint, 5
FROM generate_series(1, $1::integer) AS i
"""

_HISTORY: Final = """
INSERT INTO puntual.run_history (
    id, task, args, queue, priority, state, reason, origin, due_at, claim_at, created_at, started_at, finished_at,
    attempt, max_attempts, released, interrupted, lost, worker, claimed_at, cancel_requested, tags, policy, attempts,
    result, expires_on
)
SELECT
    ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
    CASE WHEN i % 3 <> 0 THEN $2 ELSE 'bench.other' END, '{"i":1}', 'queue-' || (i % 10), i % 4,
    CASE WHEN i % 100 <> 0 THEN 'succeeded' ELSE 'dead' END, CASE WHEN i % 100 <> 0 THEN NULL ELSE 'error' END, 'event',
    at, at, at, at, at, 1, 5, 0, 0, 0, 'worker', at, false, '["bench"]', '{}', '[]', NULL,
    ($4::bigint / 86400000000)::integer + CASE WHEN i % 100 <> 0 THEN 7 ELSE 90 END
FROM generate_series(1, $1::integer) AS i, LATERAL (SELECT $3::bigint + i::bigint * 1000 AS at) AS clock
"""


async def add_future(url: str, count: int, now: int) -> None:
    """Adds pending runs that are not due while anything is measured."""
    await _fill(url, _FUTURE, (count, NOOP, now + _YEAR_US, now), "puntual.runs")


async def add_history(url: str, count: int, now: int) -> None:
    """Adds finished runs: ten queues, two tasks, one in a hundred dead."""
    await _fill(url, _HISTORY, (count, NOOP, now - count * 1000, now), "puntual.run_history")


async def _fill(url: str, statement: str, parameters: tuple[int | str, ...], table: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_LANES)
        await connection.execute(statement, *parameters)
        await connection.execute(f"VACUUM (ANALYZE) {table}")
    finally:
        await connection.close()
