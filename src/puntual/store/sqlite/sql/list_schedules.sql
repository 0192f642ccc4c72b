-- ?1 owner or NULL, ?2 tags or NULL, ?3 the last name seen, ?4 how many, -1 for all
SELECT json_group_array($schedule_and_last) FROM (
    SELECT * FROM schedules
    WHERE
        name > ?3 AND (?1 IS NULL OR owner = ?1)
        AND (?2 IS NULL OR EXISTS (
            SELECT 1 FROM json_each(spec, '$.tags') AS t WHERE t.value IN (SELECT value FROM json_each(?2))
        ))
    ORDER BY name LIMIT ?4
) AS s
