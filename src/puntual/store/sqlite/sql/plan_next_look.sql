SELECT min(look_at) FROM schedules
WHERE look_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pause_of_all WHERE json_extract(pause, '$.until') IS NULL)
