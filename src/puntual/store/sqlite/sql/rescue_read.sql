SELECT json_group_array($run) FROM json_each(?1) AS j CROSS JOIN live_runs AS r ON r.id = j.value
