-- $1 today, $2 how many
DELETE FROM puntual.attempt_responses_other WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM puntual.attempt_responses_other
    WHERE expires_on < $1::integer ORDER BY expires_on LIMIT $2::bigint FOR UPDATE SKIP LOCKED
))
