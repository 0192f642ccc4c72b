SELECT json_group_array(json_array(r.id, r.attempt)) FROM runs AS r WHERE r.state = 'running' AND r.worker = ?1
