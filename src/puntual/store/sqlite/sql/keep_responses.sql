WITH given (run_id, attempt, body, content_type, headers, truncated) AS (VALUES (:row))
INSERT INTO attempt_responses (run_id, attempt, body, content_type, headers, truncated)
SELECT run_id, attempt, body, content_type, headers, truncated FROM given WHERE run_id IS NOT NULL
ON CONFLICT DO NOTHING
