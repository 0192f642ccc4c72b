json_object(
    'schedule', $schedule,
    'live', json(($live_ids)),
    'withdrawable', json((
        SELECT json_group_array(json_array(w.tick_number, w.tick_at, w.id)) FROM runs AS w
        WHERE
            w.schedule_id = s.id AND w.due_at > ?2 AND w.state = 'pending' AND w.origin = 'tick'
            AND w.tick_number IS NOT NULL AND w.attempt = 0
    )),
    'behind', iif(?2 IS NULL, NULL, ($behind))
)
