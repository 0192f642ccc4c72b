DELETE FROM calendars WHERE name IN (SELECT value FROM json_each(?1))
