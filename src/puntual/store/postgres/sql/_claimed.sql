r.id::text AS id, r.task, r.args, r.queue, r.priority, r.origin, r.replay_of, r.schedule_id, r.schedule, r.tick_at,
    r.tick_number, r.due_at, r.claim_at, r.created_at, r.started_at, r.attempt, r.max_attempts, r.released,
    r.interrupted, r.lost, r.worker, r.claimed_at, r.cancel_requested, r.unique_key, r.tags, r.policy, r.attempts
