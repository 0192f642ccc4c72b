SELECT body, content_type, headers, truncated FROM puntual.attempt_responses
WHERE run_id = $1::uuid AND attempt = $2::integer ORDER BY expires_on DESC LIMIT 1
