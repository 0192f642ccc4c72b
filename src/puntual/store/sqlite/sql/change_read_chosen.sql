-- ?1 tag or NULL, ?2 now, or NULL when nobody asks for what could be withdrawn, ?3 owner or NULL
SELECT json_array((SELECT json(pause) FROM pause_of_all), json((
    SELECT json_group_array($view)
    FROM schedules AS s
    WHERE
        (?1 IS NULL OR EXISTS (SELECT 1 FROM json_each(s.spec, '$.tags') AS t WHERE t.value = ?1))
        AND (?3 IS NULL OR s.owner = ?3)
)))
