-- Copies runs that ended into history; end_delete takes them out of the live ones in the same transaction.
WITH given (
    seq, state, reason, finished_at, started_at, released, interrupted, lost, attempts, result, expires_on
) AS (VALUES (:row))
INSERT INTO run_history (
    id, task, args, queue, priority, state, reason, origin, replay_of, schedule_id, schedule, tick_at, tick_number,
    due_at, claim_at, created_at, started_at, finished_at, attempt, max_attempts, released, interrupted, lost, worker,
    claimed_at, cancel_requested, unique_key, tags, policy, attempts, result, expires_on
)
SELECT
    r.id, r.task, r.args, r.queue, r.priority, given.state, given.reason, r.origin, r.replay_of, r.schedule_id,
    r.schedule, r.tick_at, r.tick_number, r.due_at, r.claim_at, r.created_at, coalesce(given.started_at, r.started_at),
    given.finished_at, r.attempt, r.max_attempts, r.released + given.released, r.interrupted + given.interrupted,
    r.lost + given.lost, r.worker, r.claimed_at, r.cancel_requested, r.unique_key, r.tags, r.policy,
    coalesce(given.attempts, r.attempts), given.result, given.expires_on
FROM given CROSS JOIN runs AS r ON r.seq = given.seq
