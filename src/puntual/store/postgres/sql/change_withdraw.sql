-- $1 ids, $2 now
DELETE FROM puntual.runs
WHERE
    id = ANY($1::text[]::uuid[]) AND state = 'pending' AND origin = 'tick' AND attempt = 0 AND due_at > $2::bigint
