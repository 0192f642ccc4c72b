SELECT * FROM (
    SELECT
        schedule, tick_number AS number, tick_at, tick_at AS last_tick_at, 1 AS count, 0 AS at_least,
        iif(started_at IS NULL, 'planned', 'ran') AS fate, NULL AS reason, id AS run_id, state AS run_state,
        started_at - due_at AS lateness
    FROM runs
    WHERE
        tick_number IS NOT NULL AND ONE_SCHEDULE
        AND tick_at >= max(?3, ?9) AND tick_at < ?4 AND (tick_at, schedule, tick_number) < (?5, ?6, ?7)
        AND (?2 IS NULL OR iif(started_at IS NULL, 'planned', 'ran') IN (SELECT value FROM json_each(?2)))
    ORDER BY tick_at DESC, schedule DESC, tick_number DESC LIMIT ?1
)
