SELECT q.name FROM puntual.queues AS q
                WHERE q.paused OR q.concurrency <= (
                    SELECT count(*) FROM puntual.runs AS b WHERE b.state = 'running' AND b.queue = q.name
                )
