SELECT * FROM (
    SELECT
        h.schedule, h.tick_number AS number, h.tick_at, h.tick_at AS last_tick_at, 1 AS count, 0 AS at_least,
        $fate_over AS fate, iif(h.state = 'cancelled' AND h.started_at IS NULL, 'cancelled', NULL) AS reason,
        h.id AS run_id, h.state AS run_state, h.started_at - h.due_at AS lateness
    FROM run_history AS h
    WHERE
        h.tick_number IS NOT NULL AND ONE_SCHEDULE AND ONE_FATE
        AND h.tick_at >= max(?3, ?9) AND h.tick_at < ?4 AND (h.tick_at, h.schedule, h.tick_number) < (?5, ?6, ?7)
    ORDER BY h.tick_at DESC, h.schedule DESC, h.tick_number DESC LIMIT ?1
)
