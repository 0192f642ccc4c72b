-- Running runs whose worker has no live lease, and when that ran out; of a worker that nobody remembers it ended now, so
-- they are charged. What another settles at this moment is left to it.
SELECT r.id::text AS id, coalesce(w.lease_until, $1::bigint) AS ended, ($run)::text AS run
FROM puntual.live_runs AS r LEFT JOIN puntual.workers AS w ON w.id = r.worker
WHERE r.state = 'running' AND (w.id IS NULL OR w.ended_at IS NOT NULL)
ORDER BY r.id LIMIT $2::bigint FOR UPDATE OF r SKIP LOCKED
