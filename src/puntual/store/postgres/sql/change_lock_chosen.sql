-- $1 tag or NULL, $2 owner or NULL
SELECT s.id FROM puntual.schedules AS s
WHERE
    ($1::text IS NULL OR EXISTS (SELECT FROM json_array_elements_text(s.spec::json -> 'tags') AS t (tag) WHERE t.tag = $1))
    AND ($2::text IS NULL OR s.owner = $2)
ORDER BY s.id FOR UPDATE
