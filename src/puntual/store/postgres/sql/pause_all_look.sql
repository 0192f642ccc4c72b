-- Every schedule is looked at. In the order in which changes lock them, and settles those that wait for a run.
UPDATE puntual.schedules AS s SET look_at = $1::bigint
FROM (
    SELECT id FROM puntual.schedules WHERE look_at IS NULL OR look_at > $1::bigint ORDER BY id FOR UPDATE
) AS asleep
WHERE s.id = asleep.id
