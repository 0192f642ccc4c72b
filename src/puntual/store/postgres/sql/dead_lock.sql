-- $1 how many. Dead runs, locked in the order of their ids: what another put back or discarded meanwhile is left out.
WITH chosen AS MATERIALIZED (
    SELECT r.id FROM puntual.run_history AS r WHERE r.state = 'dead' AND TRUE ORDER BY r.id DESC LIMIT $1::bigint
), held AS MATERIALIZED (
    SELECT r.id, r.task, r.unique_key, r.expires_on FROM puntual.run_history AS r
    WHERE r.id = ANY (ARRAY(SELECT id FROM chosen)) AND r.state = 'dead' AND TRUE ORDER BY r.id FOR UPDATE
)
SELECT coalesce(json_agg(json_build_array(id, task, unique_key, expires_on) ORDER BY id DESC), '[]')::text FROM held
