-- The schedules whose time to be looked at has come; none while everything is paused with no end.
SELECT json_array(
    (SELECT json(pause) FROM pause_of_all),
    json((
        SELECT json_group_array(json_object('schedule', $schedule, 'live', json(($live_ids))))
        FROM (
            SELECT * FROM schedules
            WHERE
                look_at <= ?1
                AND NOT EXISTS (SELECT 1 FROM pause_of_all WHERE json_extract(pause, '$.until') IS NULL)
            ORDER BY look_at LIMIT ?2
        ) AS s
    ))
)
