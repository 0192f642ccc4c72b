-- A stretch that stands already is the same one, planned again.
WITH given (schedule_id, schedule, number, tick_at, last_tick_at, count, at_least, fate, reason) AS (VALUES (:row))
INSERT INTO tick_stretches (schedule_id, schedule, number, tick_at, last_tick_at, count, at_least, fate, reason)
SELECT schedule_id, schedule, number, tick_at, last_tick_at, count, at_least, fate, reason FROM given
WHERE schedule_id IS NOT NULL
ON CONFLICT DO NOTHING
