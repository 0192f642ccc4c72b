-- ?1 names, ?2 now, or NULL when nobody asks for what could be withdrawn
SELECT json_array((SELECT json(pause) FROM pause_of_all), json((
    SELECT json_group_array($view)
    FROM json_each(?1) AS j CROSS JOIN schedules AS s ON s.name = j.value
)))
