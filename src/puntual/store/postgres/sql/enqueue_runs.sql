-- Due at the instant given, else after the delay from now; claimable never before now, which is read after the
-- transaction has its number (clock.sql). Says the time, how many were inserted and, if not all were, which.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(
        $3::uuid[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::text[], $9::text[], $10::text[], $11::text[],
        $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::integer[], $17::text[], $18::text[], $19::text[]
    ) AS given (
        id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at, delay,
        max_attempts, unique_key, tags, policy
    )
), clock AS MATERIALIZED (
    SELECT coalesce($1::bigint, puntual.now_us()) AS now
    FROM (SELECT pg_current_xact_id() AS number OFFSET 0) AS numbered WHERE number IS NOT NULL
), lane AS (
    INSERT INTO puntual.lanes (queue) SELECT unnest($2::text[]) ON CONFLICT DO NOTHING
), inserted AS (
    $enqueue
)
SELECT json_build_array(
    $enqueued
)::text
