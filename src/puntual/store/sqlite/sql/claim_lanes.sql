-- What a worker could take: per lane (queue, priority) the room of its queue, its due runs and when the next one is due.
-- ?1 worker, ?2 until when, ?3 how many rows of a lane to look at, ?4 how many to find, ?5 tasks, ?6 queues or NULL
-- Lanes are found by a seek or two each, never by reading through their runs.
WITH RECURSIVE lane (seq, queue, priority, head) AS (
    SELECT * FROM (
        SELECT seq, queue, priority, claim_at FROM runs WHERE state = 'pending'
        ORDER BY queue, priority, claim_at LIMIT 1
    )
    UNION ALL
    SELECT r.seq, r.queue, r.priority, r.claim_at
    FROM lane CROSS JOIN runs AS r ON r.seq = coalesce(
        (
            SELECT n.seq FROM runs AS n
            WHERE n.state = 'pending' AND n.queue = lane.queue AND n.priority > lane.priority
            ORDER BY n.priority, n.claim_at LIMIT 1
        ),
        (
            SELECT n.seq FROM runs AS n WHERE n.state = 'pending' AND n.queue > lane.queue
            ORDER BY n.queue, n.priority, n.claim_at LIMIT 1
        )
    )
)
SELECT json_array(
    (SELECT json_array(ended_at IS NOT NULL, draining) FROM workers WHERE id = ?1),
    (SELECT json(pause) FROM pause_of_all),
    EXISTS (
        SELECT 1 FROM runs AS r
        WHERE
            r.state = 'pending' AND r.lost > 1 AND r.claim_at <= ?2 AND r.task IN (SELECT value FROM json_each(?5))
            AND (?6 IS NULL OR r.queue IN (SELECT value FROM json_each(?6)))
            AND r.queue NOT IN (SELECT name FROM queues WHERE paused = 1)
    ),
    json((
        SELECT json_group_array(json_array(
            lane.priority, lane.queue,
            iif(q.concurrency IS NULL, NULL, q.concurrency - (
                SELECT count(*) FROM runs AS b WHERE b.state = 'running' AND b.queue = lane.queue
            )),
            json((
                SELECT json_group_array(json_array(claim_at, seq, size)) FROM (
                    SELECT seq, claim_at, size FROM (
                        SELECT r.seq, r.claim_at, length(r.args) AS size, r.task, r.lost FROM runs AS r
                        WHERE
                            r.state = 'pending' AND r.queue = lane.queue AND r.priority = lane.priority
                            AND r.claim_at <= ?2 AND lane.head <= ?2
                        ORDER BY r.claim_at LIMIT ?3
                    )
                    WHERE lost < 2 AND task IN (SELECT value FROM json_each(?5)) LIMIT ?4
                )
            )),
            (
                SELECT claim_at FROM (
                    SELECT r.claim_at, r.task FROM runs AS r
                    WHERE
                        r.state = 'pending' AND r.queue = lane.queue AND r.priority = lane.priority
                        AND r.claim_at > ?2
                    ORDER BY r.claim_at LIMIT ?3
                )
                WHERE task IN (SELECT value FROM json_each(?5)) LIMIT 1
            )
        ))
        FROM lane LEFT JOIN queues AS q ON q.name = lane.queue
        WHERE
            NOT coalesce(q.paused, 0) AND (?6 IS NULL OR lane.queue IN (SELECT value FROM json_each(?6)))
    ))
)
