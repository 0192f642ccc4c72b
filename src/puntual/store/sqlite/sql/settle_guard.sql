-- Whose each claim is: 0 no longer the caller's, 1 its cancel wish has changed, 2 still the caller's.
WITH given (id, attempt, worker, cancel_seen) AS (VALUES (:row))
SELECT json_group_array(json_array(
    CASE
        WHEN r.seq IS NULL OR r.state <> 'running' OR r.attempt <> given.attempt OR r.worker <> given.worker THEN 0
        WHEN r.cancel_requested <> given.cancel_seen THEN 1
        ELSE 2
    END,
    r.seq, r.queue, r.schedule_id
))
FROM given LEFT JOIN runs AS r ON r.id = given.id WHERE given.id IS NOT NULL
