-- $1 how many, $2 priority, $3 queue, $4 due time (what is NULL stays), $5 now. Rows are locked in the order of their
-- ids, and tried once more when whoever held them has let go.
WITH chosen AS MATERIALIZED (
    SELECT r.id FROM puntual.live_runs AS r WHERE r.state = 'pending' AND TRUE ORDER BY r.id DESC LIMIT $1::bigint
), held AS MATERIALIZED (
    SELECT r.id FROM puntual.live_runs AS r
    WHERE r.id = ANY (ARRAY(SELECT id FROM chosen)) AND r.state = 'pending' AND TRUE ORDER BY r.id FOR UPDATE
), lane AS (
    INSERT INTO puntual.lanes (queue) SELECT $3::text WHERE $3::text IS NOT NULL AND EXISTS (SELECT 1 FROM held)
    ON CONFLICT DO NOTHING
), edited AS (
    UPDATE puntual.runs AS r SET
        priority = coalesce($2::smallint, r.priority), queue = coalesce($3::text, r.queue),
        due_at = coalesce($4::bigint, r.due_at), claim_at = greatest(coalesce($4::bigint, r.claim_at), $5::bigint)
    FROM held WHERE r.id = held.id RETURNING r.id
)
SELECT coalesce(json_agg(id ORDER BY id DESC), '[]')::text FROM edited
