INSERT INTO puntual.workers (
    id, host, pid, roles, queues, tasks, concurrency, version, started_at, seen_at, lease_us, lease_until, held
) VALUES (
    $1::text, $2::text, $3::integer, $4::text, $5::text, $6::text, $7::integer, $8::text, $9::bigint, $10::bigint,
    $11::bigint, $10::bigint + $11::bigint, $12::integer
)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, lease_us = excluded.lease_us, lease_until = excluded.lease_until
WHERE workers.ended_at IS NULL
