SELECT json_group_array(id) FROM (
    SELECT * FROM (SELECT r.id FROM runs AS r WHERE r.schedule_id = s.id LIMIT 100)
    UNION
    SELECT r.id FROM runs AS r
    WHERE r.task = json_extract(s.spec, '$.target.task') AND r.unique_key = json_extract(s.spec, '$.unique_key')
)
