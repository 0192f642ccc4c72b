-- Takes back what was inserted in this transaction and stands in history.
WITH known AS MATERIALIZED (
    SELECT given.id FROM unnest($1::text[]::uuid[]) AS given (id)
    CROSS JOIN LATERAL (SELECT 1 FROM puntual.run_history AS h WHERE h.id = given.id LIMIT 1) AS ended
), gone AS (
    DELETE FROM puntual.runs WHERE id = ANY (ARRAY(SELECT id FROM known)) RETURNING id
)
SELECT coalesce(json_agg(id), '[]')::text FROM gone
