(
                SELECT coalesce(json_object_agg(q.name, q.concurrency - (
                    SELECT count(*) FROM puntual.runs AS b WHERE b.state = 'running' AND b.queue = q.name
                )), '{}'::json)
                FROM puntual.queues AS q WHERE q.concurrency IS NOT NULL
            )
