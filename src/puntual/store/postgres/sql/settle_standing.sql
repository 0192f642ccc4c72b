-- Of these claims those that are still the caller's.
SELECT r.id::text AS id FROM unnest($1::uuid[], $2::integer[], $3::text[]) AS given (id, attempt, worker)
JOIN puntual.runs AS r ON r.id = given.id AND r.attempt = given.attempt AND r.worker = given.worker
