INSERT INTO workers (
    id, host, pid, roles, queues, tasks, concurrency, version, started_at, seen_at, lease_us, lease_until, held
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, lease_us = excluded.lease_us, lease_until = excluded.lease_until
WHERE ended_at IS NULL
