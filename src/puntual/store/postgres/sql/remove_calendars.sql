-- $1 names
DELETE FROM puntual.calendars WHERE name = ANY($1::text[])
