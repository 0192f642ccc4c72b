-- Running runs whose worker has no live lease; of a worker that nobody remembers the lease ended now, so they are charged.
SELECT json_group_array(json_array(id, coalesce(lease_until, ?1))) FROM (
    SELECT b.id, w.lease_until FROM runs AS b LEFT JOIN workers AS w ON w.id = b.worker
    WHERE b.state = 'running' AND (w.id IS NULL OR w.ended_at IS NOT NULL)
    -- The plus keeps it off the index of all ids: running runs are few.
    ORDER BY +b.id LIMIT ?2
)
