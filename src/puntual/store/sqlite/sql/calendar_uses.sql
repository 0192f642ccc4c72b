-- ?1 names of calendars, or NULL for all. Most schedules name none, and their text tells so without being taken apart.
SELECT json_group_array(json_array(s.name, json_extract(c.value, '$.name'), json_extract(c.value, '$.version')))
FROM (SELECT name, json_extract(spec, '$.timetable') AS timetable FROM schedules WHERE instr(spec, 'closures') > 0) AS s
CROSS JOIN json_each(iif(json_valid(s.timetable), s.timetable, '{}'), '$.closures.calendars') AS c
WHERE c.type = 'object' AND (?1 IS NULL OR json_extract(c.value, '$.name') IN (SELECT value FROM json_each(?1)))
