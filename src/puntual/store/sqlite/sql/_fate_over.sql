iif(h.state = 'cancelled' AND h.started_at IS NULL, 'skipped', 'ran')
