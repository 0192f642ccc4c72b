(
    SELECT json_group_object(q.name, q.concurrency - (
        SELECT count(*) FROM runs AS b WHERE b.state = 'running' AND b.queue = q.name
    ))
    FROM queues AS q WHERE q.concurrency IS NOT NULL
)
