-- $1 owner or NULL, $2 tags or NULL, $3 the last name seen, $4 how many, NULL for all
SELECT coalesce(json_agg($schedule_and_last), '[]'::json) FROM (
    SELECT s.* FROM puntual.schedules AS s
    WHERE
        s.name > $3::text AND ($1::text IS NULL OR s.owner = $1)
        AND ($2::text[] IS NULL OR EXISTS (
            SELECT FROM json_array_elements_text(s.spec::json -> 'tags') AS t (tag) WHERE t.tag = ANY($2)
        ))
    ORDER BY s.name LIMIT $4::bigint
) AS s
