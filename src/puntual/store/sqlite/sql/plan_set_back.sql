WITH given (id, look_at, trouble) AS (VALUES (:row))
UPDATE schedules SET look_at = given.look_at, trouble = given.trouble FROM given WHERE schedules.id = given.id
