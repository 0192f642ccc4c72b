DELETE FROM attempt_responses WHERE run_id IN (SELECT value FROM json_each(?1))
