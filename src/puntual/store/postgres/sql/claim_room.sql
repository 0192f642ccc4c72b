-- What a queue may still run, NULL if it has no limit. Read in a statement of its own, after claim_hold: younger than it.
SELECT q.concurrency - (SELECT count(*) FROM puntual.runs AS b WHERE b.state = 'running' AND b.queue = q.name)
FROM puntual.queues AS q WHERE q.name = $1::text
