-- The open stretch of a schedule that goes becomes a row: its ticks keep their fate. $1 names
INSERT INTO puntual.tick_stretches (
    schedule_id, schedule, number, tick_at, last_tick_at, count, at_least, fate, reason
)
SELECT s.id, s.name, $open_stretch FROM puntual.schedules AS s
WHERE s.name = ANY($1::text[]) AND s.stretch IS NOT NULL
ON CONFLICT DO NOTHING
