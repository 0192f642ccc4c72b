-- Which of these runs stand, live or (if $2) in history, and which live runs hold these keys.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS given (id uuid, task text, unique_key text)
)
SELECT json_build_array(
    (
        SELECT coalesce(json_agg(given.id), '[]') FROM given CROSS JOIN LATERAL (
            (SELECT 1 FROM puntual.runs AS r WHERE r.id = given.id LIMIT 1)
            UNION ALL
            (SELECT 1 FROM puntual.run_history AS h WHERE $2::boolean AND h.id = given.id LIMIT 1)
            LIMIT 1
        ) AS standing
    ),
    (
        SELECT coalesce(json_agg(json_build_array(given.task, given.unique_key, holder.id)), '[]')
        FROM given CROSS JOIN LATERAL (
            SELECT r.id FROM puntual.runs AS r WHERE r.task = given.task AND r.unique_key = given.unique_key LIMIT 1
        ) AS holder
    )
)::text
