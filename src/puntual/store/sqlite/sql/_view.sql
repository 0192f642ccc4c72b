json_object(
    'schedule', $schedule,
    'live', json((
        SELECT json_group_array(id) FROM (
            SELECT r.id FROM runs AS r WHERE r.schedule_id = s.id
            UNION
            SELECT r.id FROM runs AS r
            WHERE r.task = json_extract(s.spec, '$.target.task') AND r.unique_key = json_extract(s.spec, '$.unique_key')
            LIMIT 100
        )
    )),
    'withdrawable', json((
        SELECT json_group_array(json_array(w.tick_number, w.tick_at, w.id)) FROM runs AS w
        WHERE
            w.schedule_id = s.id AND w.state = 'pending' AND w.origin = 'tick' AND w.tick_number IS NOT NULL
            AND w.attempt = w.released AND w.due_at > ?2
    ))
)
