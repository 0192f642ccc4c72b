DELETE FROM run_history WHERE seq IN (SELECT value FROM json_each(?1))
