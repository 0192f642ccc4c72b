-- The last tick of a schedule that no edit can take back. Ticks come after their schedule was made.
SELECT max(b.tick_at) FROM (
    (
        SELECT r.tick_at FROM puntual.runs AS r
        WHERE
            r.tick_number IS NOT NULL AND (r.schedule, r.tick_at) >= (s.name, s.created_at)
            AND (r.schedule, r.tick_at) < (s.name, 9223372036854775807) AND r.schedule_id = s.id
            AND r.id <> ALL (w.ids)
        ORDER BY r.schedule DESC, r.tick_at DESC LIMIT 1
    )
    UNION ALL
    (
        SELECT h.tick_at FROM puntual.run_history AS h
        WHERE
            h.tick_number IS NOT NULL AND (h.schedule, h.tick_at) >= (s.name, s.created_at)
            AND (h.schedule, h.tick_at) < (s.name, 9223372036854775807) AND h.schedule_id = s.id
        ORDER BY h.schedule DESC, h.tick_at DESC LIMIT 1
    )
    UNION ALL
    (
        SELECT t.last_tick_at FROM puntual.tick_stretches AS t
        WHERE t.schedule_id = s.id ORDER BY t.number DESC LIMIT 1
    )
    UNION ALL
    SELECT (s.stretch::json ->> 2)::bigint
) AS b (tick_at)
