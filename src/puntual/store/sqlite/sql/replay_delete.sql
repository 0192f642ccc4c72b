DELETE FROM run_history WHERE id IN (SELECT value FROM json_each(?1))
