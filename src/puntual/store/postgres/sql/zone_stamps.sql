-- How many schedules that tick on have each version of the tz database.
SELECT coalesce(json_agg(json_build_array(coalesce(tzdata, ''), held)), '[]'::json)
FROM (SELECT tzdata, count(*) AS held FROM puntual.schedules WHERE next_tick_at IS NOT NULL AND trouble IS NULL GROUP BY tzdata) AS found
