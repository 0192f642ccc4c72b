UPDATE puntual.runs SET cancel_requested = true
WHERE id = ANY ($1::text[]::uuid[]) AND state = 'running' AND NOT cancel_requested
