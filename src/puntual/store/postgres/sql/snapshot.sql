-- $1 now, $2 how far to count, $3 how many runs of each lane are looked at first, $4 and how many more at most.
-- Every queue that is configured, or has a live run or a dead one in the list.
WITH RECURSIVE $queue_names, heads AS MATERIALIZED (
    SELECT w.queue, s.shard, p.priority, r.task, r.claim_at
    FROM waiting AS w
    CROSS JOIN generate_series(0, 31) AS s (shard) CROSS JOIN generate_series(0, 3) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT r.task, r.claim_at FROM puntual.runs AS r
        WHERE
            r.state = 'pending' AND r.lost < 2 AND r.queue = w.queue AND r.shard = s.shard::smallint
            AND r.priority = p.priority::smallint AND r.claim_at <= $1::bigint
        ORDER BY r.claim_at LIMIT $3::bigint
    ) AS r
    WHERE w.queue IS NOT NULL
), long AS MATERIALIZED (
    SELECT queue, shard, priority FROM heads GROUP BY queue, shard, priority HAVING count(*) = $3::bigint
), due AS MATERIALIZED (
    SELECT queue, task, claim_at FROM heads
    UNION ALL
    SELECT q.queue, more.task, more.claim_at
    FROM (SELECT DISTINCT queue FROM long) AS q
    CROSS JOIN LATERAL (
        SELECT r.task, r.claim_at FROM long AS l
        CROSS JOIN LATERAL (
            SELECT r.task, r.claim_at FROM puntual.runs AS r
            WHERE
                r.state = 'pending' AND r.lost < 2 AND r.queue = l.queue AND r.shard = l.shard::smallint
                AND r.priority = l.priority::smallint AND r.claim_at <= $1::bigint
            ORDER BY r.claim_at OFFSET $3::bigint LIMIT $4::bigint
        ) AS r
        WHERE l.queue = q.queue LIMIT $2::bigint
    ) AS more
    UNION ALL
    (
        SELECT queue, task, claim_at FROM puntual.runs
        WHERE state = 'pending' AND lost > 1 AND claim_at <= $1::bigint ORDER BY claim_at LIMIT $2::bigint
    )
), late (queue, count, head) AS MATERIALIZED (
    SELECT queue, count(*), min(claim_at) FROM due GROUP BY queue
), alone (queue, count) AS MATERIALIZED (
    SELECT queue, count(*) FROM (
        SELECT queue FROM puntual.runs WHERE state = 'pending' AND lost > 1 ORDER BY claim_at LIMIT $2::bigint
    ) AS lost GROUP BY queue
), running (queue, count) AS MATERIALIZED (
    SELECT queue, count(*) FROM puntual.runs WHERE state = 'running' GROUP BY queue
), named (name) AS (
    SELECT name FROM puntual.queues
    UNION SELECT queue FROM waiting WHERE queue IS NOT NULL
    UNION SELECT queue FROM alone
    UNION SELECT queue FROM running
    UNION SELECT queue FROM graves WHERE queue IS NOT NULL
)
SELECT json_build_array(
    (
        SELECT coalesce(json_agg(json_build_object(
            'name', n.name, 'paused', coalesce(q.paused, false), 'pause_reason', q.pause_reason,
            'concurrency', q.concurrency, 'pending', least($2::bigint, $pending_count + coalesce(alone.count, 0)),
            'due', least($2::bigint, coalesce(late.count, 0)), 'running', coalesce(running.count, 0),
            'dead', $dead_count, 'oldest_due_at', late.head
        ) ORDER BY n.name), '[]')
        FROM named AS n
        LEFT JOIN puntual.queues AS q ON q.name = n.name LEFT JOIN late ON late.queue = n.name
        LEFT JOIN alone ON alone.queue = n.name LEFT JOIN running ON running.queue = n.name
    ),
    (SELECT pause::json FROM puntual.pause_of_all),
    (SELECT lease_until FROM puntual.leases WHERE name = 'upkeep'),
    (SELECT max(version) FROM puntual.schema_migrations),
    (
        SELECT coalesce(json_agg(json_build_object('task', task, 'due', least($2::bigint, count), 'oldest_due_at', head)
            ORDER BY task), '[]')
        FROM (SELECT task, count(*) AS count, min(claim_at) AS head FROM due GROUP BY task) AS tasks
    )
)::text
