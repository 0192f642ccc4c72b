-- For a deep backlog: walks the lanes of each class from the nearest on, and locks no more than it takes.
-- $1 worker, $2 ahead, $3 tasks, $4 queues as JSON, $5 lanes, the nearest first,
-- $6 their floors, $7 share of each class, $8 bytes
WITH clock AS MATERIALIZED (SELECT puntual.now_us() AS now),
gate AS MATERIALIZED (
    SELECT clock.now, clock.now + $2::bigint AS until FROM clock WHERE $claim_worker AND NOT ($claim_shut)
),
locked AS MATERIALIZED (
    SELECT near.spot, near.number, gate.now, sum(near.size) OVER (ROWS UNBOUNDED PRECEDING) AS sum, near.size
    FROM gate CROSS JOIN unnest($7::integer[]) WITH ORDINALITY AS class (share, place)
    CROSS JOIN LATERAL (
        SELECT found.spot, found.size, lane.number
        FROM unnest($5::integer[], $6::bigint[]) AS lane (number, floor)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS spot, octet_length(r.args) AS size FROM puntual.runs AS r
            WHERE
                r.queue = ($4::jsonb ->> (lane.number >> 7)) AND r.shard = ((lane.number >> 2) & 31)::smallint
                AND r.priority = (lane.number & 3)::smallint AND r.state = 'pending' AND r.lost < 2
                AND r.claim_at >= lane.floor AND r.claim_at <= gate.until AND r.task = ANY ($3::text[])
            ORDER BY r.claim_at LIMIT class.share FOR UPDATE SKIP LOCKED
        ) AS found
        WHERE
            (lane.number & 3) = class.place - 1 AND ($4::jsonb ->> (lane.number >> 7)) <> ALL (ARRAY(
                SELECT q.name FROM puntual.queues AS q WHERE q.paused OR q.concurrency IS NOT NULL
            ))
        LIMIT class.share
    ) AS near
    WHERE class.share > 0
),
picked AS MATERIALIZED (
    SELECT locked.spot, locked.number, locked.now FROM locked WHERE locked.sum <= $8::bigint OR locked.sum = locked.size
)
$claim_set RETURNING (SELECT count(*) FROM locked) AS found, picked.number, $claimed
