WITH given (schedule_id, number) AS (VALUES (:row))
DELETE FROM tick_stretches WHERE (schedule_id, number) IN (
    SELECT t.schedule_id, t.number
    FROM given CROSS JOIN tick_stretches AS t ON t.schedule_id = given.schedule_id AND t.number = given.number
)
