-- $1 ids of dead runs that are locked, $2 the days of their rows, $3 now.
UPDATE puntual.run_history AS h SET discarded_at = $3::bigint
FROM unnest($1::text[]::uuid[], $2::integer[]) AS given (id, day) WHERE h.id = given.id AND h.expires_on = given.day
