-- $1 how many. Of the sources that may hold such runs one list, by id, newest first; and down to which id they were read.
WITH lowest AS MATERIALIZED (
    SELECT id FROM (LOWEST) AS ends ORDER BY id DESC LIMIT 1
)
SELECT json_build_array(
    (SELECT id FROM lowest),
    (
        SELECT coalesce(json_agg(run ORDER BY id DESC), '[]')
        FROM (SELECT * FROM (HALVES) AS halves ORDER BY id DESC LIMIT $1::bigint) AS page
    )
)::text
