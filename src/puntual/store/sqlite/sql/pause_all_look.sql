UPDATE schedules SET look_at = ?1 WHERE look_at IS NULL OR look_at > ?1
