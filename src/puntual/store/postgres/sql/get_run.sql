-- History is looked at only if the run does not live.
SELECT coalesce(json_agg(run), '[]')::text FROM (
    SELECT $run AS run FROM puntual.live_runs AS r WHERE r.id = $1::uuid
    UNION ALL
    SELECT $run AS run FROM puntual.run_history AS r WHERE r.id = $1::uuid
    LIMIT 1
) AS found
