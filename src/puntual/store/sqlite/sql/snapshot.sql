-- ?1 now, ?2 how far to count. Every queue that is configured, or has a live run or a dead one in the list.
WITH RECURSIVE $lane,
due (queue, task, head, count) AS MATERIALIZED (
    SELECT lane.queue, lane.task, lane.head, (
        SELECT count(*) FROM (
            SELECT 1 FROM runs AS r
            WHERE
                r.state = 'pending' AND r.lost < 2 AND r.queue = lane.queue AND r.priority = lane.priority
                AND r.task = lane.task AND r.claim_at <= ?1
            LIMIT ?2
        )
    )
    FROM lane
    UNION ALL
    SELECT queue, task, claim_at, claim_at <= ?1 FROM runs WHERE state = 'pending' AND lost > 1
),
waiting (queue, count, head) AS MATERIALIZED (
    SELECT queue, sum(count), min(iif(head <= ?1, head, NULL)) FROM due GROUP BY queue
),
graves (queue) AS (
    SELECT min(queue) FROM run_history WHERE state = 'dead' AND discarded_at IS NULL
    UNION ALL
    SELECT (
        SELECT min(h.queue) FROM run_history AS h
        WHERE h.state = 'dead' AND h.discarded_at IS NULL AND h.queue > graves.queue
    )
    FROM graves WHERE queue IS NOT NULL
),
named (name) AS (
    SELECT name FROM queues
    UNION SELECT queue FROM waiting
    UNION SELECT queue FROM runs WHERE state = 'running'
    UNION SELECT queue FROM graves WHERE queue IS NOT NULL
)
SELECT json_array(
    json((
        SELECT json_group_array(json_object(
            'name', n.name, 'paused', json(iif(coalesce(q.paused, 0), 'true', 'false')),
            'pause_reason', q.pause_reason, 'concurrency', q.concurrency,
            'pending', min(?2, (
                SELECT count(*) FROM (
                    SELECT 1 FROM runs AS r WHERE r.state = 'pending' AND r.lost < 2 AND r.queue = n.name LIMIT ?2
                )
            ) + (SELECT count(*) FROM runs AS r WHERE r.state = 'pending' AND r.lost > 1 AND r.queue = n.name)),
            'due', min(?2, coalesce(w.count, 0)),
            'running', (SELECT count(*) FROM runs AS r WHERE r.state = 'running' AND r.queue = n.name),
            'dead', (
                SELECT count(*) FROM (
                    SELECT 1 FROM run_history AS h
                    WHERE h.state = 'dead' AND h.discarded_at IS NULL AND h.queue = n.name LIMIT ?2
                )
            ),
            'oldest_due_at', w.head
        ))
        FROM (SELECT name FROM named ORDER BY name) AS n
        LEFT JOIN queues AS q ON q.name = n.name LEFT JOIN waiting AS w ON w.queue = n.name
    )),
    (SELECT json(pause) FROM pause_of_all),
    (SELECT lease_until FROM leases WHERE name = 'upkeep'),
    (SELECT max(version) FROM schema_migrations),
    json((
        SELECT json_group_array(json_object('task', task, 'due', min(?2, count), 'oldest_due_at', head))
        FROM (
            SELECT task, sum(count) AS count, min(head) AS head FROM due WHERE head <= ?1 GROUP BY task ORDER BY task
        )
    ))
)
