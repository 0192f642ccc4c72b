UPDATE workers SET ended_at = ?2, lease_until = min(lease_until, ?2) WHERE id = ?1 AND ended_at IS NULL
