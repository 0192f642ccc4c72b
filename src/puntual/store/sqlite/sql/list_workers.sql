SELECT json_group_array(json_object(
    'id', id, 'host', host, 'pid', pid, 'roles', json(roles), 'queues', json(queues), 'tasks', json(tasks),
    'concurrency', concurrency, 'started_at', started_at, 'seen_at', seen_at, 'lease_until', lease_until,
    'draining', json(iif(draining, 'true', 'false')), 'held', held, 'version', version
))
FROM (SELECT * FROM workers WHERE ended_at IS NULL ORDER BY started_at, id)
