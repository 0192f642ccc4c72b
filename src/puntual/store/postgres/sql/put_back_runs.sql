-- Makes claimed runs pending again, never claimable before now, which was read after the transaction had its number.
-- Guarded as end_runs; says which were written, and the queue of what can be claimed now.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(
        $2::uuid[], $3::integer[], $4::text[], $5::boolean[], $6::bigint[], $7::bigint[], $8::integer[], $9::integer[],
        $10::integer[], $11::text[]
    ) AS given (
        id, attempt, worker, cancel_seen, claim_at, started_at, released, interrupted, lost, attempts
    )
)
UPDATE puntual.runs AS r SET
    state = 'pending', worker = NULL, claimed_at = NULL,
    claim_at = greatest(given.claim_at, $1::bigint),
    started_at = coalesce(given.started_at, r.started_at),
    released = r.released + given.released,
    interrupted = r.interrupted + given.interrupted,
    lost = r.lost + given.lost,
    attempts = given.attempts
FROM given
WHERE
    r.id = given.id AND r.attempt = given.attempt AND r.worker = given.worker
    AND r.cancel_requested = given.cancel_seen
RETURNING r.id::text AS id, CASE WHEN r.claim_at <= $1::bigint THEN r.queue END AS queue
