WITH given (name, concurrency) AS (VALUES (:row))
INSERT INTO queues (name, concurrency) SELECT name, concurrency FROM given WHERE name IS NOT NULL
ON CONFLICT (name) DO UPDATE SET concurrency = excluded.concurrency
