-- As claim_lanes, but only runs that were lost twice or more; few, so each is a lane of its own.
-- ?1 worker, ?2 until when, ?3 and ?4 how many, ?5 tasks, ?6 queues or NULL
SELECT json_array(
    (SELECT json_array(ended_at IS NOT NULL, draining) FROM workers WHERE id = ?1),
    (SELECT json(pause) FROM pause_of_all),
    0,
    json((
        SELECT json_group_array(json_array(
            priority, queue,
            (
                SELECT q.concurrency - (SELECT count(*) FROM runs AS b WHERE b.state = 'running' AND b.queue = q.name)
                FROM queues AS q WHERE q.name = lone.queue
            ),
            json(iif(claim_at <= ?2, json_array(json_array(claim_at, seq, size)), json_array())),
            iif(claim_at > ?2, claim_at, NULL)
        ))
        FROM (
            SELECT r.seq, r.queue, r.priority, r.claim_at, length(r.args) AS size FROM runs AS r
            WHERE
                r.state = 'pending' AND r.lost > 1 AND r.task IN (SELECT value FROM json_each(?5))
                AND (?6 IS NULL OR r.queue IN (SELECT value FROM json_each(?6)))
                AND r.queue NOT IN (SELECT name FROM queues WHERE paused = 1)
            ORDER BY r.claim_at LIMIT min(?3, ?4)
        ) AS lone
    ))
)
