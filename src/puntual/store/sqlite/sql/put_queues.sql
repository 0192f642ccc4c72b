-- What a row leaves open stays: no pause given is NULL, and limit_given says whether the limit is.
WITH given (name, paused, pause_reason, concurrency, limit_given) AS (VALUES (:row))
INSERT INTO queues (name, paused, pause_reason, concurrency)
SELECT
    given.name, coalesce(given.paused, q.paused, 0),
    iif(given.paused IS NULL, q.pause_reason, given.pause_reason),
    iif(given.limit_given, given.concurrency, q.concurrency)
FROM given LEFT JOIN queues AS q ON q.name = given.name WHERE given.name IS NOT NULL
ON CONFLICT (name) DO UPDATE SET
    paused = excluded.paused, pause_reason = excluded.pause_reason, concurrency = excluded.concurrency
