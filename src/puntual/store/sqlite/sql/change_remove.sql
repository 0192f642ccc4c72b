DELETE FROM schedules WHERE name IN (SELECT value FROM json_each(?1))
