-- $1 ids of dead runs that are locked, $2 the days of their rows, $3 the attempts of a policy that names none, $4 now.
-- They are put back in the order of their keys, so that two replays wait for each other's in one order; of two with one
-- key the newer comes first. A key that a live run holds leaves its run where it was.
WITH dead AS MATERIALIZED (
    SELECT h.* FROM unnest($1::text[]::uuid[], $2::integer[]) AS given (id, day)
    CROSS JOIN LATERAL (
        SELECT * FROM puntual.run_history AS h WHERE h.id = given.id AND h.expires_on = given.day LIMIT 1
    ) AS h
), lane AS (
    INSERT INTO puntual.lanes (queue) SELECT DISTINCT queue FROM dead ORDER BY queue ON CONFLICT DO NOTHING
), back AS (
    INSERT INTO puntual.runs (
        id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at,
        claim_at, created_at, started_at, attempt, max_attempts, released, interrupted, lost, unique_key, tags, policy,
        attempts
    )
    SELECT
        id, task, args, queue, priority, origin, replay_of, schedule_id, schedule, tick_at, tick_number, due_at,
        $4::bigint, created_at, started_at, attempt,
        max_attempts + coalesce(
            -- One that is no number is a run that nobody can read, and no reason to leave the others.
            substring(policy::json #>> '{retry,max_attempts}' FROM '^[0-9]{1,6}$')::integer, $3::integer
        ), released, interrupted, lost, unique_key, tags, policy, attempts
    FROM dead ORDER BY task, unique_key, id DESC
    ON CONFLICT DO NOTHING RETURNING id
), gone AS (
    DELETE FROM puntual.run_history AS h USING dead, back WHERE back.id = dead.id AND h.id = dead.id AND h.expires_on = dead.expires_on
)
SELECT coalesce(json_agg(id), '[]')::text FROM back
