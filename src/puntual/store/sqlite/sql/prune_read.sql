SELECT json_group_array(json_array(
    seq, id, schedule_id, schedule, tick_number, tick_at, skipped
)) FROM (
    SELECT
        seq, id, schedule_id, schedule, tick_number, tick_at, state = 'cancelled' AND started_at IS NULL AS skipped
    FROM run_history
    WHERE expires_on < ?1 ORDER BY expires_on LIMIT ?2
)
