-- Looks at lanes and claims in order: each class has its share, and within a class the earliest of all lanes go first.
-- $1 worker, $2 now or NULL, $3 ahead, $4 limit, $5 tasks, $6 queues as JSON (an array of texts would be walked through
-- for each place in it), $7 lanes, $8 their floors, $9 how much of each, $10 cumulative shares of the classes, $11 bytes,
-- $12 the limited queue to claim from or NULL, $13 whether to see all, $14 the queues asked for or NULL, $15 whether to
-- take a transaction id
-- Read without locks first: 32 shards would lock 32 times what is wanted. Then exactly the chosen ones are locked.
WITH clock AS MATERIALIZED (
    SELECT coalesce($2::bigint, noted) AS now, noted FROM (SELECT puntual.now_us() AS noted OFFSET 0) AS read
),
gate AS MATERIALIZED (
    SELECT clock.*, clock.now + $3::bigint AS until, coalesce($claim_worker, false) AS alive, $claim_shut AS shut
    FROM clock
),
lane AS MATERIALIZED (
    SELECT given.number, way.queue, way.shard, way.priority, head.claim_at AS head
    FROM unnest($7::integer[], $8::bigint[]) AS given (number, floor)
    CROSS JOIN LATERAL (
        SELECT
            $6::jsonb ->> (given.number >> 7) AS queue, ((given.number >> 2) & 31)::smallint AS shard,
            (given.number & 3)::smallint AS priority
        OFFSET 0
    ) AS way
    CROSS JOIN LATERAL (
        SELECT r.claim_at FROM puntual.runs AS r
        WHERE
            r.queue = way.queue AND r.shard = way.shard AND r.priority = way.priority AND r.state = 'pending'
            AND r.lost < 2 AND r.claim_at >= given.floor AND r.task = ANY ($5::text[])
        ORDER BY r.claim_at LIMIT 1
    ) AS head
),
due AS MATERIALIZED (
    SELECT lane.number, lane.queue, found.*
    FROM gate CROSS JOIN lane CROSS JOIN LATERAL (
        SELECT r.ctid AS spot, r.claim_at, r.priority, octet_length(r.args) AS size FROM puntual.runs AS r
        WHERE
            r.queue = lane.queue AND r.shard = lane.shard AND r.priority = lane.priority AND r.state = 'pending'
            AND r.lost < 2 AND r.claim_at >= lane.head AND r.claim_at <= gate.until AND r.task = ANY ($5::text[])
        ORDER BY r.claim_at LIMIT $9::integer
    ) AS found
    WHERE
        gate.alive AND NOT gate.shut AND lane.head <= gate.until AND lane.queue <> ALL (ARRAY(
            SELECT q.name FROM puntual.queues AS q
            WHERE q.paused OR (q.concurrency IS NOT NULL AND q.name IS DISTINCT FROM $12::text)
        ))
),
$claim_choice,
picked AS MATERIALIZED (
    -- Each by itself: a plan made when the table was empty might compare every row with every other.
    SELECT held.spot, fit.place, gate.now
    FROM gate CROSS JOIN fit CROSS JOIN LATERAL (
        SELECT r.ctid AS spot FROM puntual.runs AS r
        WHERE
            r.ctid = fit.spot AND r.state = 'pending' AND r.lost < 2 AND r.queue = fit.queue
            AND r.claim_at <= gate.until
        FOR UPDATE SKIP LOCKED
    ) AS held
),
taken AS ($claim_set RETURNING picked.place, $claimed)
SELECT
    CASE WHEN coalesce(row_number() OVER (ORDER BY taken.place), 1) = 1 THEN json_build_array(
        gate.now, gate.alive, gate.shut, (SELECT count(*) FROM due), (SELECT count(*) FROM fit),
        EXISTS (SELECT 1 FROM due GROUP BY number HAVING count(*) >= $9::integer),
        (SELECT coalesce(json_agg(json_build_array(number, head)), '[]'::json) FROM lane),
        CASE WHEN $13::boolean THEN $claim_sight END
    )::text END AS seen,
    taken.*
FROM gate LEFT JOIN taken ON true ORDER BY taken.place
