UPDATE run_history SET discarded_at = ?2 WHERE id IN (SELECT value FROM json_each(?1)) AND discarded_at IS NULL
