WITH given (seq, claim_at, started_at, released, interrupted, lost, attempts) AS (VALUES (:row)),
clock (now) AS (VALUES (?))
UPDATE runs SET
    state = 'pending', worker = NULL, claimed_at = NULL,
    claim_at = max(given.claim_at, clock.now),
    started_at = coalesce(given.started_at, runs.started_at),
    released = runs.released + given.released,
    interrupted = runs.interrupted + given.interrupted,
    lost = runs.lost + given.lost,
    attempts = given.attempts
FROM given CROSS JOIN clock WHERE runs.seq = given.seq
