UPDATE workers SET draining = 1 WHERE id = ?1 AND ended_at IS NULL
