-- Moves runs to history, each guarded by its claim and the cancel wish that was seen; in the order of their ids.
-- Says the time, how many were written, which if not all were, and whether a schedule had a tick waiting for one.
-- The schedules first, as planning does: it may be deciding now that a tick has to wait for one of these runs; those of
-- which no tick ever waits are left alone. KEY SHARE waits for nobody but planning: two settles of one schedule both have
-- it, and either may set `look_at`.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(
        $2::uuid[], $3::integer[], $4::text[], $5::boolean[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
        $10::integer[], $11::integer[], $12::integer[], $13::text[], $14::text[], $15::integer[]
    ) AS given (
        id, attempt, worker, cancel_seen, state, reason, finished_at, started_at, released, interrupted, lost, attempts,
        result, expires_on
    )
),
clock AS MATERIALIZED (SELECT coalesce($1::bigint, puntual.now_us()) AS now),
owner AS MATERIALIZED (
    SELECT s.id, s.seen_at, s.look_at FROM puntual.schedules AS s
    WHERE s.id = ANY (ARRAY(
        SELECT DISTINCT mine.schedule_id FROM given CROSS JOIN LATERAL (
            SELECT r.schedule_id FROM puntual.runs AS r WHERE r.id = given.id OFFSET 0
        ) AS mine
        WHERE mine.schedule_id IS NOT NULL
    ))
    AND (s.seen_at IS NOT NULL OR coalesce(s.spec::json ->> 'overlap', 'skip') NOT IN ('skip', 'allow_all'))
    ORDER BY s.id FOR KEY SHARE OF s
),
ended AS (
    DELETE FROM puntual.runs AS r USING given
    WHERE
        r.id = given.id AND r.attempt = given.attempt AND r.worker IS NOT DISTINCT FROM given.worker
        AND r.cancel_requested = given.cancel_seen AND (SELECT count(*) FROM owner) >= 0
    RETURNING
        r.*, given.state AS outcome, given.reason, given.finished_at, coalesce(given.started_at, r.started_at) AS began,
        r.released + given.released AS releases, r.interrupted + given.interrupted AS interruptions,
        r.lost + given.lost AS losses, coalesce(given.attempts, r.attempts) AS story, given.result, given.expires_on
),
kept AS (
    INSERT INTO puntual.run_history (
        id, task, args, queue, priority, state, reason, origin, replay_of, schedule_id, schedule, tick_at, tick_number,
        due_at, claim_at, created_at, started_at, finished_at, attempt, max_attempts, released, interrupted, lost, worker,
        claimed_at, cancel_requested, unique_key, tags, policy, attempts, result, expires_on
    )
    SELECT
        id, task, args, queue, priority, outcome, reason, origin, replay_of, schedule_id, schedule, tick_at, tick_number,
        due_at, claim_at, created_at, began, coalesce(finished_at, clock.now), attempt, max_attempts, releases,
        interruptions, losses, worker, claimed_at, cancel_requested, unique_key, tags, policy, story, result, expires_on
    FROM ended CROSS JOIN clock
),
-- By what was read under the lock: this statement's snapshot may be older than what planning has just written.
waiting AS MATERIALIZED (
    SELECT s.id FROM owner CROSS JOIN clock JOIN puntual.schedules AS s ON s.id = owner.id
    WHERE
        owner.seen_at IS NOT NULL AND (owner.look_at IS NULL OR owner.look_at > clock.now)
        AND owner.id IN (SELECT ended.schedule_id FROM ended)
    ORDER BY s.id FOR NO KEY UPDATE OF s
),
woken AS (
    UPDATE puntual.schedules AS s SET look_at = clock.now FROM waiting CROSS JOIN clock WHERE s.id = waiting.id
    RETURNING s.id
)
SELECT
    clock.now, EXISTS (SELECT 1 FROM woken) AS schedules,
    CASE WHEN counted.ended < cardinality($2::uuid[]) THEN ARRAY(SELECT ended.id::text FROM ended) END AS written
FROM clock CROSS JOIN (SELECT count(*) AS ended FROM ended) AS counted
