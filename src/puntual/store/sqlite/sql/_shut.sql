SELECT q.name FROM queues AS q
WHERE q.paused = 1 OR q.concurrency <= (SELECT count(*) FROM runs AS b WHERE b.state = 'running' AND b.queue = q.name)
