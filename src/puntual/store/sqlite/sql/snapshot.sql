-- ?1 now. Every queue that is configured, or has a live run or a dead one in the list; all counts come from indexes.
WITH RECURSIVE busy (name) AS (
    SELECT min(queue) FROM runs WHERE state = 'pending'
    UNION ALL
    SELECT (SELECT min(queue) FROM runs WHERE state = 'pending' AND queue > busy.name) FROM busy WHERE name IS NOT NULL
),
named (name) AS (
    SELECT name FROM queues
    UNION SELECT name FROM busy WHERE name IS NOT NULL
    UNION SELECT queue FROM runs WHERE state = 'running'
    UNION SELECT queue FROM run_history WHERE state = 'dead' AND discarded_at IS NULL
)
SELECT json_array(
    json((
        SELECT json_group_array(json_object(
            'name', n.name, 'paused', json(iif(coalesce(q.paused, 0), 'true', 'false')),
            'pause_reason', q.pause_reason, 'concurrency', q.concurrency,
            'pending', (SELECT count(*) FROM runs AS r WHERE r.state = 'pending' AND r.queue = n.name),
            'due', (
                SELECT count(*) FROM (SELECT 0 AS p UNION SELECT 1 UNION SELECT 2 UNION SELECT 3)
                CROSS JOIN runs AS r
                ON r.state = 'pending' AND r.queue = n.name AND r.priority = p AND r.claim_at <= ?1
            ),
            'running', (SELECT count(*) FROM runs AS r WHERE r.state = 'running' AND r.queue = n.name),
            'dead', (
                SELECT count(*) FROM run_history AS h
                WHERE h.state = 'dead' AND h.discarded_at IS NULL AND h.queue = n.name
            ),
            'oldest_due_at', (
                SELECT min(head) FROM (
                    SELECT (
                        SELECT min(r.claim_at) FROM runs AS r
                        WHERE r.state = 'pending' AND r.queue = n.name AND r.priority = p AND r.claim_at <= ?1
                    ) AS head
                    FROM (SELECT 0 AS p UNION SELECT 1 UNION SELECT 2 UNION SELECT 3)
                )
            )
        ))
        FROM (SELECT name FROM named ORDER BY name) AS n LEFT JOIN queues AS q ON q.name = n.name
    )),
    (SELECT json(pause) FROM pause_of_all),
    (SELECT lease_until FROM leases WHERE name = 'upkeep'),
    (SELECT max(version) FROM schema_migrations)
)
