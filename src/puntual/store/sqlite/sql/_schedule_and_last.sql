json_insert($schedule, '$.last', json((
    -- Ticks come after their schedule was made, so those of an older one of the same name are not read; and of many
    -- that wait, the newest are.
    SELECT json_object('tick_at', tick_at, 'fate', fate, 'run_id', run_id, 'run_state', state) FROM (
        SELECT * FROM (
            SELECT l.tick_at, 'ran' AS fate, l.id AS run_id, l.state FROM (
                SELECT * FROM runs WHERE schedule = s.name AND tick_number IS NOT NULL AND tick_at >= s.created_at
                ORDER BY tick_at DESC LIMIT 100
            ) AS l
            WHERE l.schedule_id = s.id AND l.started_at IS NOT NULL
            ORDER BY l.tick_at DESC LIMIT 1
        )
        UNION ALL
        SELECT * FROM (
            SELECT h.tick_at, $fate_over, h.id, h.state FROM run_history AS h
            WHERE h.schedule = s.name AND h.tick_number IS NOT NULL AND h.schedule_id = s.id AND h.tick_at >= s.created_at
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
