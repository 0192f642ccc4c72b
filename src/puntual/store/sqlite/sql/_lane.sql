-- The lanes that have runs, each with its first run, found by up to three seeks each: comparing the three columns as one
-- value would read through the whole lane.
lane (seq, queue, priority, task, head) AS (
    SELECT * FROM (
        SELECT seq, queue, priority, task, claim_at FROM runs WHERE state = 'pending' AND lost < 2
        ORDER BY queue, priority, task, claim_at LIMIT 1
    )
    UNION ALL
    SELECT r.seq, r.queue, r.priority, r.task, r.claim_at
    FROM lane CROSS JOIN runs AS r ON r.seq = coalesce(
        (
            SELECT n.seq FROM runs AS n
            WHERE
                n.state = 'pending' AND n.lost < 2
                AND n.queue = lane.queue AND n.priority = lane.priority AND n.task > lane.task
            ORDER BY n.task, n.claim_at LIMIT 1
        ),
        (
            SELECT n.seq FROM runs AS n
            WHERE n.state = 'pending' AND n.lost < 2 AND n.queue = lane.queue AND n.priority > lane.priority
            ORDER BY n.priority, n.task, n.claim_at LIMIT 1
        ),
        (
            SELECT n.seq FROM runs AS n WHERE n.state = 'pending' AND n.lost < 2 AND n.queue > lane.queue
            ORDER BY n.queue, n.priority, n.task, n.claim_at LIMIT 1
        )
    )
)
