SELECT body, content_type, headers, truncated FROM attempt_responses WHERE run_id = ?1 AND attempt = ?2
