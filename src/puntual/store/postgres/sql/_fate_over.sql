CASE WHEN h.state = 'cancelled' AND h.started_at IS NULL THEN 'skipped' ELSE 'ran' END
