WITH given (schedule_id, number) AS (VALUES (:row))
DELETE FROM tick_stretches WHERE (schedule_id, number) IN (SELECT schedule_id, number FROM given)
