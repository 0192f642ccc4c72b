-- As claim_lanes, but only runs that were lost twice or more; few, so each is a lane of its own.
-- ?1 worker, ?2 until when, ?3 how many, ?4 tasks, ?5 queues or NULL
SELECT json_array(
    (SELECT json_array(ended_at IS NOT NULL, draining) FROM workers WHERE id = ?1),
    (SELECT json(pause) FROM pause_of_all),
    json($rooms),
    0,
    json((
        SELECT json_group_array(json_array(
            priority, queue, task, json(iif(claim_at <= ?2, json_array(json_array(claim_at, seq, size)), json_array())),
            iif(claim_at > ?2, claim_at, NULL)
        ))
        FROM (
            SELECT r.seq, r.queue, r.priority, r.task, r.claim_at, length(r.args) AS size FROM runs AS r
            WHERE
                r.state = 'pending' AND r.lost > 1 AND r.task IN (SELECT value FROM json_each(?4))
                AND (?5 IS NULL OR r.queue IN (SELECT value FROM json_each(?5)))
                AND r.queue NOT IN ($shut)
            ORDER BY r.claim_at LIMIT ?3
        ) AS lone
    ))
)
