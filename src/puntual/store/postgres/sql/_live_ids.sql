SELECT coalesce(json_agg(l.id), '[]'::json) FROM (
    (SELECT r.id FROM puntual.runs AS r WHERE r.schedule_id = s.id LIMIT 100)
    UNION ALL
    SELECT r.id FROM puntual.runs AS r
    WHERE
        r.task = s.spec::json #>> '{target,task}' AND r.unique_key = s.spec::json ->> 'unique_key'
        AND r.schedule_id IS DISTINCT FROM s.id
) AS l
