(SELECT r.id FROM puntual.run_source AS r WHERE PLACE ORDER BY ORDERED LIMIT 1 OFFSET $2::bigint)
