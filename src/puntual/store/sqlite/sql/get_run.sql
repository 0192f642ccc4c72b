SELECT json_group_array(json(run)) FROM (
    SELECT $run AS run FROM live_runs AS r WHERE r.id = ?1
    UNION ALL
    SELECT $run AS run FROM run_history AS r WHERE r.id = ?1
)
