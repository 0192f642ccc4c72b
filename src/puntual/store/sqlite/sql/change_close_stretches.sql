-- The open stretch of a schedule that goes becomes a row: its ticks keep their fate.
INSERT INTO tick_stretches (schedule_id, number, schedule, tick_at, last_tick_at, count, at_least, fate, reason)
SELECT
    id, json_extract(stretch, '$[0]'), name, json_extract(stretch, '$[1]'), json_extract(stretch, '$[2]'),
    json_extract(stretch, '$[3]'), json_extract(stretch, '$[4]'), json_extract(stretch, '$[5]'),
    json_extract(stretch, '$[6]')
FROM schedules WHERE name IN (SELECT value FROM json_each(?1)) AND stretch IS NOT NULL
ON CONFLICT DO NOTHING
