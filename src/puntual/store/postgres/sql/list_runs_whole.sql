-- $1 how many. Few at any time, or named one by one: they are read whole, wherever they lie among the others.
SELECT json_build_array(
    NULL,
    (
        SELECT coalesce(json_agg(run ORDER BY id DESC), '[]')
        FROM (SELECT * FROM (HALVES) AS halves ORDER BY id DESC LIMIT $1::bigint) AS page
    )
)::text
