-- $1 name, $2 paused, $3 the reason of that, $4 concurrency, $5 whether it is given. What is left open stays: a row that
-- another is writing is waited for, and read anew.
INSERT INTO puntual.queues AS q (name, paused, pause_reason, concurrency)
VALUES ($1::text, coalesce($2::boolean, false), $3::text, $4::integer)
ON CONFLICT (name) DO UPDATE SET
    paused = coalesce($2::boolean, q.paused),
    pause_reason = CASE WHEN $2::boolean IS NULL THEN q.pause_reason ELSE $3::text END,
    concurrency = CASE WHEN $5::boolean THEN $4::integer ELSE q.concurrency END
