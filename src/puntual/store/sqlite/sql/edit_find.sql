-- Of runs found by their ids.
SELECT json_group_array(id) FROM (
    SELECT r.id FROM live_runs AS r WHERE r.state = 'pending' AND (TRUE) ORDER BY r.id DESC LIMIT ?
)
