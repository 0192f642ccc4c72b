json_build_object(
    $schedule_parts, 'last', (
        -- Ticks come after their schedule was made, so those of an older one of the same name are not read; and of many
        -- that wait, the newest are.
        SELECT json_build_object('tick_at', l.tick_at, 'fate', l.fate, 'run_id', l.run_id, 'run_state', l.state) FROM (
            (
                SELECT l.tick_at, 'ran' AS fate, l.id AS run_id, l.state FROM (
                    SELECT r.* FROM puntual.runs AS r
                    WHERE
                        r.tick_number IS NOT NULL AND (r.schedule, r.tick_at) >= (s.name, s.created_at)
                        AND (r.schedule, r.tick_at) < (s.name, 9223372036854775807)
                    ORDER BY r.schedule DESC, r.tick_at DESC LIMIT 100
                ) AS l
                WHERE l.schedule_id = s.id AND l.started_at IS NOT NULL
                ORDER BY l.tick_at DESC LIMIT 1
            )
            UNION ALL
            (
                SELECT h.tick_at, $fate_over, h.id, h.state FROM puntual.run_history AS h
                WHERE
                    h.tick_number IS NOT NULL AND (h.schedule, h.tick_at) >= (s.name, s.created_at)
                    AND (h.schedule, h.tick_at) < (s.name, 9223372036854775807) AND h.schedule_id = s.id
                ORDER BY h.schedule DESC, h.tick_at DESC LIMIT 1
            )
            UNION ALL
            (
                SELECT t.last_tick_at, t.fate, NULL, NULL FROM puntual.tick_stretches AS t
                WHERE t.schedule_id = s.id ORDER BY t.number DESC LIMIT 1
            )
            UNION ALL
            SELECT (s.stretch::json ->> 2)::bigint, s.stretch::json ->> 5, NULL, NULL WHERE s.stretch IS NOT NULL
        ) AS l
        ORDER BY l.tick_at DESC LIMIT 1
    )
)
