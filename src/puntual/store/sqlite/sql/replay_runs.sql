-- ?1 ids, ?2 the attempts of a policy that names none, ?3 now
INSERT INTO runs (
    id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at, claim_at,
    created_at, started_at, attempt, max_attempts, released, interrupted, lost, unique_key, tags, policy, attempts
)
SELECT
    h.id, h.task, h.args, h.queue, h.priority, h.origin, h.replay_of, h.schedule_id, h.schedule, h.tick_at,
    h.tick_number, h.due_at, ?3, h.created_at, h.started_at, h.attempt,
    h.max_attempts + coalesce(json_extract(h.policy, '$.retry.max_attempts'), ?2), h.released, h.interrupted, h.lost,
    h.unique_key, h.tags, h.policy, h.attempts
FROM json_each(?1) AS j CROSS JOIN run_history AS h ON h.id = j.value
