-- Of these runs the live ones, locked.
SELECT r.id::text AS id, r.attempt, r.worker, r.claimed_at, r.cancel_requested
FROM unnest($1::uuid[]) AS given (id) JOIN puntual.runs AS r ON r.id = given.id
ORDER BY r.id FOR UPDATE OF r
