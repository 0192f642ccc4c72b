-- $1 names
SELECT coalesce(json_agg($schedule_and_last), '[]'::json)
FROM puntual.schedules AS s WHERE s.name = ANY($1::text[])
