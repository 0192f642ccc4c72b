-- Each of the few names is found by one step in an index, however many rows have it.
waiting (queue) AS (
    (SELECT queue FROM puntual.runs WHERE state = 'pending' AND lost < 2 ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (
        SELECT r.queue FROM puntual.runs AS r
        WHERE r.state = 'pending' AND r.lost < 2 AND r.queue > w.queue ORDER BY r.queue LIMIT 1
    )
    FROM waiting AS w WHERE w.queue IS NOT NULL
)
