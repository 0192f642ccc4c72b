"""A database with 100,000 live runs and as many that are over, on thirty days."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.databases import server

ENDED = 100_000
_DAYS = """
DO $do$
DECLARE today bigint := puntual.now_us() / 86400000000;
BEGIN
    FOR day IN 7..104 LOOP
        CONTINUE WHEN day BETWEEN 22 AND 89;
        EXECUTE format(
            'CREATE TABLE puntual.crowd_%s PARTITION OF puntual.run_history FOR VALUES FROM (%s) TO (%s)',
            day, today + day, today + day + 1
        );
    END LOOP;
END $do$
"""
#: Half of them are due.
_LIVE = """
INSERT INTO puntual.runs (id, task, args, queue, priority, due_at, claim_at, created_at, max_attempts)
SELECT
    ('0199' || lpad(to_hex(n), 8, '0') || '70008000' || lpad(to_hex(n * 7919), 12, '0'))::uuid, 't' || n % 5, '{}',
    'q' || n % 3, n % 4, now + (n - 50000) * 1000, now + (n - 50000) * 1000, now, 5
FROM (SELECT n, puntual.now_us() AS now FROM generate_series(1::bigint, 100000) AS n) AS rows
"""
#: Their ids lie among those of the live ones.
_ENDED = """
INSERT INTO puntual.run_history (
    id, task, args, queue, priority, state, reason, origin, schedule_id, schedule, tick_at, tick_number, due_at,
    claim_at, created_at, started_at, finished_at, attempt, max_attempts, released, interrupted, lost, cancel_requested,
    tags, policy, attempts, expires_on
)
SELECT
    ('0199' || lpad(to_hex(n), 8, '0') || '70009000' || lpad(to_hex(n * 7919), 12, '0'))::uuid, 't' || n % 5, '{}',
    'q' || n % 3, n % 4,
    CASE WHEN n % 100 = 0 THEN 'dead' WHEN n % 100 = 1 THEN 'cancelled' ELSE 'succeeded' END,
    CASE WHEN n % 100 = 0 THEN 'attempts' END, 'tick', 's' || n % 50, 's' || n % 50, at, n, at, at, at, at, at, 1, 5, 0,
    0, 0, false, '[]', '{}', '[]', at / 86400000000 + CASE WHEN n % 2 = 0 THEN 7 ELSE 90 END + n % 15
FROM (SELECT n, puntual.now_us() AS at FROM generate_series(1::bigint, 100000) AS n) AS rows
"""


@contextmanager
def crowd(name: str) -> Iterator[str]:
    """The URL of such a database, removed in the end."""
    at = server()
    at.execute(f"CREATE DATABASE {name} TEMPLATE puntual_template")
    try:
        for statement in (_DAYS, _LIVE, _ENDED, "VACUUM ANALYZE"):
            at.execute(statement, name)
        yield at.url(name)
    finally:
        at.execute(f"DROP DATABASE {name} WITH (FORCE)")
