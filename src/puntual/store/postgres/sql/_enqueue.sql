INSERT INTO puntual.runs (
    id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at, claim_at,
    created_at, max_attempts, unique_key, tags, policy
)
SELECT
    id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number,
    coalesce(due_at, now + delay), greatest(coalesce(due_at, now + delay), now), now, max_attempts, unique_key, tags,
    policy
FROM given CROSS JOIN clock ON CONFLICT DO NOTHING RETURNING id
