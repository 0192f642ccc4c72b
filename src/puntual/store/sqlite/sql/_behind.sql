-- The last tick of a schedule that no edit can take back. Ticks come after their schedule was made.
SELECT max(b.tick_at) FROM (
    SELECT * FROM (
        SELECT r.tick_at FROM runs AS r
        WHERE
            r.schedule = s.name AND r.tick_number IS NOT NULL AND r.tick_at >= s.created_at AND r.schedule_id = s.id
            AND NOT (r.due_at > ?2 AND r.state = 'pending' AND r.origin = 'tick' AND r.attempt = 0)
        ORDER BY r.tick_at DESC LIMIT 1
    )
    UNION ALL
    SELECT * FROM (
        SELECT h.tick_at FROM run_history AS h
        WHERE h.schedule = s.name AND h.tick_number IS NOT NULL AND h.tick_at >= s.created_at AND h.schedule_id = s.id
        ORDER BY h.tick_at DESC LIMIT 1
    )
    UNION ALL
    SELECT * FROM (
        SELECT t.last_tick_at FROM tick_stretches AS t WHERE t.schedule_id = s.id ORDER BY t.number DESC LIMIT 1
    )
    UNION ALL
    SELECT json_extract(s.stretch, '$[2]')
) AS b
