-- $1 names of calendars, or NULL for all. Most schedules name none, and their text tells so without being taken apart.
SELECT coalesce(json_agg(json_build_array(s.name, c.one ->> 'name', c.one -> 'version')), '[]')::text
FROM (
    SELECT name, (spec::json ->> 'timetable')::json #> '{closures,calendars}' AS known
    FROM puntual.schedules WHERE position('closures' IN spec) > 0
) AS s
CROSS JOIN LATERAL json_array_elements(CASE json_typeof(s.known) WHEN 'array' THEN s.known ELSE '[]' END) AS c (one)
WHERE $1::text[] IS NULL OR c.one ->> 'name' = ANY($1)
