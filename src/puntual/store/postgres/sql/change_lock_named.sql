-- $1 names
SELECT s.id FROM puntual.schedules AS s WHERE s.name = ANY($1::text[]) ORDER BY s.id FOR UPDATE
