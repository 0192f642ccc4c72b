-- The stretches of ticks with runs that end just before, or begin just after, the ticks given.
WITH given (schedule_id, first, next) AS (VALUES (:row))
SELECT json_group_array(json_array(
    t.schedule_id, t.schedule, t.number, t.tick_at, t.last_tick_at, t.count, t.fate, t.reason
))
FROM given CROSS JOIN tick_stretches AS t ON
    t.schedule_id = given.schedule_id
    AND t.number IN (
        given.next,
        (
            SELECT p.number FROM tick_stretches AS p
            WHERE p.schedule_id = given.schedule_id AND p.number < given.first ORDER BY p.number DESC LIMIT 1
        )
    )
WHERE t.fate = 'ran' OR (t.fate = 'skipped' AND t.reason = 'cancelled')
