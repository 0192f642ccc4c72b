UPDATE workers SET ended_at = ?2 WHERE id IN (SELECT value FROM json_each(?1))
