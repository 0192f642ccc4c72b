-- Whether it drains, the cancels asked of what it holds, and how much that is.
SELECT json_array(
    draining,
    json((SELECT json_group_array(r.id) FROM runs AS r WHERE r.cancel_requested = 1 AND r.state = 'running' AND r.worker = ?1)),
    (SELECT count(*) FROM runs AS r WHERE r.state = 'running' AND r.worker = ?1)
)
FROM workers WHERE id = ?1
