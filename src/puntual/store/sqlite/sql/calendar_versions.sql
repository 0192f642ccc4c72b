-- ?1 names
SELECT json_group_array(json_array(name, version)) FROM calendars WHERE name IN (SELECT value FROM json_each(?1))
