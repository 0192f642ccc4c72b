SELECT min(s.look_at) FROM puntual.schedules AS s WHERE s.look_at IS NOT NULL AND NOT $never_ends
