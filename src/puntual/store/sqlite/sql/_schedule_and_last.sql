json_insert($schedule, '$.last', json((
    SELECT json_object('tick_at', tick_at, 'fate', fate, 'run_id', run_id, 'run_state', state) FROM (
        SELECT * FROM (
            SELECT l.tick_at, 'ran' AS fate, l.id AS run_id, l.state FROM runs AS l
            WHERE l.schedule = s.name AND l.tick_number IS NOT NULL AND l.schedule_id = s.id AND l.started_at IS NOT NULL
            ORDER BY l.tick_at DESC LIMIT 1
        )
        UNION ALL
        SELECT * FROM (
            SELECT h.tick_at, 'ran', h.id, h.state FROM run_history AS h
            WHERE h.schedule = s.name AND h.tick_number IS NOT NULL AND h.schedule_id = s.id
            ORDER BY h.tick_at DESC LIMIT 1
        )
        UNION ALL
        SELECT * FROM (
            SELECT t.last_tick_at, t.fate, NULL, NULL FROM tick_stretches AS t
            WHERE t.schedule_id = s.id ORDER BY t.number DESC LIMIT 1
        )
        UNION ALL
        SELECT json_extract(s.stretch, '$[2]'), json_extract(s.stretch, '$[5]'), NULL, NULL
        WHERE s.stretch IS NOT NULL
    )
    ORDER BY tick_at DESC LIMIT 1
)))
