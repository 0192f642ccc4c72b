-- $1 worker, $2 length of its lease, $3 how many claims it believes it holds, $4 whether it wants them listed, $5 now.
-- A rescue that holds the row is waited for, and if it has ended the lease nothing is renewed. The time is read before
-- that, so that the lease is never longer than the worker may believe.
WITH clock AS MATERIALIZED (
    SELECT coalesce($5::bigint, puntual.now_us()) AS now
), renewed AS (
    UPDATE puntual.workers AS w
    SET seen_at = clock.now, lease_us = $2::bigint, lease_until = clock.now + $2::bigint, held = $3::integer
    FROM clock WHERE w.id = $1::text AND w.ended_at IS NULL RETURNING w.lease_until, w.draining
)
SELECT json_build_object(
    'alive', renewed.lease_until IS NOT NULL,
    'now', clock.now,
    'lease_until', coalesce(renewed.lease_until, 0),
    'draining', coalesce(renewed.draining, false),
    'cancels', (
        SELECT coalesce(json_agg(r.id), '[]') FROM puntual.runs AS r
        WHERE renewed.lease_until IS NOT NULL AND r.cancel_requested AND r.state = 'running' AND r.worker = $1::text
    ),
    'claims', CASE
        WHEN renewed.lease_until IS NOT NULL AND ($4::boolean OR $3::integer <> (
            SELECT count(*) FROM puntual.runs AS r WHERE r.state = 'running' AND r.worker = $1::text
        )) THEN (
            SELECT coalesce(json_agg(json_build_array(r.id, r.attempt)), '[]') FROM puntual.runs AS r
            WHERE r.state = 'running' AND r.worker = $1::text
        )
    END
)::text
FROM clock LEFT JOIN renewed ON true
