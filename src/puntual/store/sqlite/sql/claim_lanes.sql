-- What a worker could take: per lane (queue, priority, task) its due runs and when the next one is due.
-- ?1 worker, ?2 until when, ?3 how many of each lane, ?4 tasks, ?5 queues or NULL
-- A lane is found by one seek, and of the lanes of other tasks nothing else is read.
WITH RECURSIVE $lane
SELECT json_array(
    (SELECT json_array(ended_at IS NOT NULL, draining) FROM workers WHERE id = ?1),
    (SELECT json(pause) FROM pause_of_all),
    json($rooms),
    EXISTS (
        SELECT 1 FROM runs AS r
        WHERE
            r.state = 'pending' AND r.lost > 1 AND r.claim_at <= ?2 AND r.task IN (SELECT value FROM json_each(?4))
            AND (?5 IS NULL OR r.queue IN (SELECT value FROM json_each(?5)))
            AND r.queue NOT IN ($shut)
    ),
    json((
        SELECT json_group_array(json_array(
            lane.priority, lane.queue, lane.task,
            json((
                SELECT json_group_array(json_array(claim_at, seq, size)) FROM (
                    SELECT r.seq, r.claim_at, length(r.args) AS size FROM runs AS r
                    WHERE
                        r.state = 'pending' AND r.lost < 2 AND r.queue = lane.queue AND r.priority = lane.priority
                        AND r.task = lane.task AND r.claim_at <= ?2 AND lane.head <= ?2
                    ORDER BY r.claim_at LIMIT ?3
                )
            )),
            (
                SELECT min(r.claim_at) FROM runs AS r
                WHERE
                    r.state = 'pending' AND r.lost < 2 AND r.queue = lane.queue AND r.priority = lane.priority
                    AND r.task = lane.task AND r.claim_at > ?2
            )
        ))
        FROM lane
        WHERE
            lane.task IN (SELECT value FROM json_each(?4))
            AND (?5 IS NULL OR lane.queue IN (SELECT value FROM json_each(?5)))
            AND lane.queue NOT IN (SELECT name FROM queues WHERE paused = 1)
    ))
)
