-- Running runs whose worker has no live lease; of a worker that nobody remembers the lease ended now, so they are charged.
SELECT json_group_array(json_array($run, coalesce(lease_until, ?1))) FROM (
    SELECT l.*, w.lease_until
    FROM runs AS b CROSS JOIN live_runs AS l ON l.seq = b.seq LEFT JOIN workers AS w ON w.id = b.worker
    WHERE b.state = 'running' AND (w.id IS NULL OR w.ended_at IS NOT NULL)
    LIMIT ?2
) AS r
