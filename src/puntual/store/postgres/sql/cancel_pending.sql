-- $1 ids of pending runs that are locked, $2 now, $3 the day on which their rows may go. They end with their story as it
-- is; a schedule with a tick waiting for one of them is looked at now. One that is locked is being looked at, or will be
-- again within a second: waiting for it would be a deadlock with a plan that cancels.
WITH ended AS (
    DELETE FROM puntual.runs WHERE id = ANY ($1::text[]::uuid[]) AND state = 'pending' RETURNING *
), kept AS (
    INSERT INTO puntual.run_history (
        id, task, args, queue, priority, state, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at,
        claim_at, created_at, started_at, finished_at, attempt, max_attempts, released, interrupted, lost, worker,
        claimed_at, cancel_requested, unique_key, tags, policy, attempts, expires_on
    )
    SELECT
        id, task, args, queue, priority, 'cancelled', origin, replay_of, schedule_id, schedule, tick_at, tick_number,
        due_at, claim_at, created_at, started_at, $2::bigint, attempt, max_attempts, released, interrupted, lost, worker,
        claimed_at, cancel_requested, unique_key, tags, policy, attempts, $3::integer
    FROM ended
)
UPDATE puntual.schedules SET look_at = $2::bigint WHERE id IN (
    SELECT s.id FROM puntual.schedules AS s
    WHERE
        s.id = ANY (ARRAY(SELECT schedule_id FROM ended)) AND s.seen_at IS NOT NULL
        AND (s.look_at IS NULL OR s.look_at > $2::bigint)
    ORDER BY s.id FOR NO KEY UPDATE SKIP LOCKED
)
