-- Of runs found by their ids.
SELECT json_group_array(json_array(id, task, unique_key)) FROM (
    SELECT r.id, r.task, r.unique_key FROM run_history AS r
    WHERE r.state = 'dead' AND (TRUE) ORDER BY r.id DESC LIMIT ?
)
