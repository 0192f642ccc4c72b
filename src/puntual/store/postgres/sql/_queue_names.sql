$waiting_names, graves (queue) AS (
    (SELECT queue FROM puntual.run_history WHERE state = 'dead' AND discarded_at IS NULL ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (
        SELECT h.queue FROM puntual.run_history AS h
        WHERE h.state = 'dead' AND h.discarded_at IS NULL AND h.queue > g.queue ORDER BY h.queue LIMIT 1
    )
    FROM graves AS g WHERE g.queue IS NOT NULL
)
