UPDATE workers SET seen_at = ?2, lease_us = ?3, lease_until = ?2 + ?3, held = ?4 WHERE id = ?1 AND ended_at IS NULL
