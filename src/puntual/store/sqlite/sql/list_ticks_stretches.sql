SELECT * FROM (
    SELECT
        schedule, number, tick_at, last_tick_at, count, at_least, fate, reason, NULL AS run_id, NULL AS run_state,
        NULL AS lateness
    FROM tick_stretches
    WHERE
        ONE_SCHEDULE
        AND last_tick_at >= ?3 AND tick_at >= ?9 AND tick_at < ?4 AND (tick_at, schedule, number) < (?5, ?6, ?7)
        AND (?2 IS NULL OR fate IN (SELECT value FROM json_each(?2)))
    ORDER BY tick_at DESC, schedule DESC, number DESC LIMIT ?1
)
