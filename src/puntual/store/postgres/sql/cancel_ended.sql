-- Which of these runs are over.
SELECT coalesce(json_agg(given.id), '[]')::text FROM unnest($1::text[]::uuid[]) AS given (id)
CROSS JOIN LATERAL (SELECT 1 FROM puntual.run_history AS h WHERE h.id = given.id LIMIT 1) AS ended
