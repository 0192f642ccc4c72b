INSERT INTO puntual.attempt_responses (run_id, attempt, body, content_type, headers, truncated, expires_on)
SELECT * FROM unnest(
    $1::uuid[], $2::integer[], $3::bytea[], $4::text[], $5::text[], $6::integer[], $7::integer[]
)
