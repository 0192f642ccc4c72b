SELECT json_group_array(id) FROM workers WHERE ended_at IS NULL AND lease_until < ?1
