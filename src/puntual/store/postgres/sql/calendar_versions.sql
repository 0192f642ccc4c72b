-- $1 names
SELECT coalesce(json_agg(json_build_array(name, version)), '[]')::text
FROM puntual.calendars WHERE name = ANY($1::text[])
