-- A lease whose heartbeat is in flight is left to the next round: it is being renewed, or its node is frozen, and then
-- the server ends its transaction. To wait for it here would keep all others waiting for rescue.
WITH overdue AS MATERIALIZED (
    SELECT w.id FROM puntual.workers AS w WHERE w.ended_at IS NULL AND w.lease_until < $1::bigint
    ORDER BY w.id FOR UPDATE SKIP LOCKED
), over AS (
    UPDATE puntual.workers AS w SET ended_at = $1::bigint FROM overdue WHERE w.id = overdue.id RETURNING w.id
)
SELECT coalesce(json_agg(id ORDER BY id), '[]')::text FROM over
