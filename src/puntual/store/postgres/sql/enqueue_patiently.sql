-- As enqueue_runs.sql, from one text, for what may have to wait for a unique key that another open transaction holds:
-- not longer than $3 milliseconds, nor than the transaction would wait anyway. What that was is said too, so that it can
-- be put back. $4 are the hints to send when this is committed, $5 the lanes to be written with it.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($2::json) AS given (
        id uuid, task text, args text, queue text, priority smallint, origin text, replay_of text, schedule_id text,
        schedule text, tick_at bigint, tick_number bigint, due_at bigint, delay bigint, max_attempts integer,
        unique_key text, tags text, policy text
    )
), patience AS MATERIALIZED (
    SELECT was, set_config('lock_timeout', CASE WHEN shorter THEN was ELSE $3::integer::text END, true) AS is
    FROM (
        SELECT was, was::interval > '0' AND was::interval < $3::integer * interval '1 ms' AS shorter
        FROM (SELECT current_setting('lock_timeout') AS was OFFSET 0) AS setting
    ) AS compared
), clock AS MATERIALIZED (
    SELECT coalesce($1::bigint, puntual.now_us()) AS now
    FROM (SELECT pg_current_xact_id() AS number, p.is FROM patience AS p OFFSET 0) AS numbered
    WHERE number IS NOT NULL AND numbered.is IS NOT NULL
), lane AS (
    INSERT INTO puntual.lanes (queue) SELECT json_array_elements_text($5::json) ON CONFLICT DO NOTHING
), inserted AS (
    $enqueue
)
SELECT json_build_array(
    $enqueued,
    (SELECT was FROM patience),
    (SELECT count(pg_notify(hint ->> 0, hint ->> 1)) FROM json_array_elements($4::json) AS hint)
)::text
