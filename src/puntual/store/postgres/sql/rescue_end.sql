-- A heartbeat in flight is waited for, and its lease read again: what it renewed is not overdue any more.
WITH overdue AS MATERIALIZED (
    SELECT w.id FROM puntual.workers AS w WHERE w.ended_at IS NULL AND w.lease_until < $1::bigint ORDER BY w.id FOR UPDATE
), over AS (
    UPDATE puntual.workers AS w SET ended_at = $1::bigint FROM overdue WHERE w.id = overdue.id RETURNING w.id
)
SELECT coalesce(json_agg(id ORDER BY id), '[]')::text FROM over
