INSERT INTO queues (name, paused, pause_reason, concurrency) VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET
    paused = excluded.paused, pause_reason = excluded.pause_reason, concurrency = excluded.concurrency
