-- $1 names
DELETE FROM puntual.schedules WHERE name = ANY($1::text[])
