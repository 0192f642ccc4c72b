SELECT coalesce(json_agg(json_build_object(
    'id', id, 'host', host, 'pid', pid, 'roles', roles::json, 'queues', queues::json, 'tasks', tasks::json,
    'concurrency', concurrency, 'started_at', started_at, 'seen_at', seen_at, 'lease_until', lease_until,
    'draining', draining, 'held', held, 'version', version
) ORDER BY started_at, id), '[]')::text
FROM puntual.workers WHERE ended_at IS NULL
