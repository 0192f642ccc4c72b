-- A lease further away than its own length was written before a clock stepped back: it counts from now. The clock is
-- read anew, after that of any heartbeat seen here.
UPDATE puntual.workers SET lease_until = coalesce($1::bigint, puntual.now_us()) + lease_us
WHERE id IN (
    SELECT w.id FROM puntual.workers AS w
    WHERE w.ended_at IS NULL AND w.lease_until > coalesce($1::bigint, puntual.now_us()) + w.lease_us
    ORDER BY w.id FOR UPDATE
)
