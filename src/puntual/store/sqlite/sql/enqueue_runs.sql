-- Due at the instant given, else after the delay from now; claimable never before now.
WITH given (
    id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at, delay,
    max_attempts, unique_key, tags, policy
) AS (VALUES (:row)), clock (now) AS (VALUES (?))
INSERT INTO runs (
    id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at, claim_at,
    created_at, max_attempts, unique_key, tags, policy
)
SELECT
    id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number,
    coalesce(due_at, now + delay), max(coalesce(due_at, now + delay), now), now, max_attempts, unique_key, tags, policy
FROM given CROSS JOIN clock WHERE id IS NOT NULL
