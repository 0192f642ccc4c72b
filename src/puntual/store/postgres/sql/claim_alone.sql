-- As claim_lanes, but only runs that were lost twice or more; few, so they are no lanes.
-- $1 worker, $2 now or NULL, $3 ahead, $4 how many, $5 tasks, $6 queues or NULL, $7 the limited queue or NULL, $8 bytes
WITH clock AS MATERIALIZED (SELECT coalesce($2::bigint, puntual.now_us()) AS now),
gate AS MATERIALIZED (
    SELECT clock.now, clock.now + $3::bigint AS until, coalesce($claim_worker, false) AS alive, $claim_shut AS shut
    FROM clock
),
lone AS MATERIALIZED (
    SELECT r.ctid AS spot, r.claim_at, r.queue, octet_length(r.args) AS size, r.claim_at <= gate.until AS due
    FROM gate CROSS JOIN puntual.runs AS r
    WHERE
        gate.alive AND NOT gate.shut AND r.state = 'pending' AND r.lost > 1 AND r.task = ANY ($5::text[])
        AND ($6::text[] IS NULL OR r.queue = ANY ($6::text[])) AND r.queue NOT IN ($claim_full)
),
fit AS MATERIALIZED (
    SELECT summed.* FROM (
        SELECT
            lone.spot, lone.queue, row_number() OVER (ORDER BY lone.claim_at) AS place,
            sum(lone.size) OVER (ORDER BY lone.claim_at) AS size
        FROM lone
        WHERE
            lone.due AND ($7::text IS NULL OR lone.queue = $7::text) AND lone.queue <> ALL (ARRAY(
                SELECT q.name FROM puntual.queues AS q
                WHERE q.concurrency IS NOT NULL AND q.name IS DISTINCT FROM $7::text
            ))
    ) AS summed
    WHERE summed.place <= $4::integer AND (summed.size <= $8::bigint OR summed.place = 1)
),
picked AS MATERIALIZED (
    -- Each by itself: a plan made when the table was empty might compare every row with every other.
    SELECT held.spot, fit.place, gate.now
    FROM gate CROSS JOIN fit CROSS JOIN LATERAL (
        SELECT r.ctid AS spot FROM puntual.runs AS r
        WHERE
            r.ctid = fit.spot AND r.state = 'pending' AND r.lost > 1 AND r.queue = fit.queue
            AND r.claim_at <= gate.until
        FOR UPDATE SKIP LOCKED
    ) AS held
),
taken AS ($claim_set RETURNING picked.place, $claimed)
SELECT
    CASE WHEN coalesce(row_number() OVER (ORDER BY taken.place), 1) = 1 THEN json_build_array(
        gate.now, gate.alive, (SELECT min(lone.claim_at) FROM lone WHERE NOT lone.due),
        (
            SELECT coalesce(json_agg(DISTINCT lone.queue), '[]'::json)
            FROM lone JOIN puntual.queues AS q ON q.name = lone.queue WHERE lone.due AND q.concurrency IS NOT NULL
        )
    )::text END AS seen,
    taken.*
FROM gate LEFT JOIN taken ON true ORDER BY taken.place
