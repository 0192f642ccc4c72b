-- $1 version, $2 after which name, $3 how many. The names of schedules that tick on, and whose
-- next tick was found with an older tz database than this one.
SELECT coalesce(json_agg(name), '[]'::json) FROM (
    SELECT name FROM puntual.schedules
    WHERE next_tick_at IS NOT NULL AND trouble IS NULL AND (tzdata IS NULL OR tzdata < $1::text) AND name > $2::text
    ORDER BY name LIMIT $3::bigint
) AS found
