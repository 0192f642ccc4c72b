-- Names that another schedule has.
WITH given (id, name) AS (VALUES (:row))
SELECT json_group_array(s.name) FROM given CROSS JOIN schedules AS s ON s.name = given.name AND s.id <> given.id
