SELECT * FROM (
    SELECT
        name AS schedule, json_extract(stretch, '$[0]') AS number, json_extract(stretch, '$[1]') AS tick_at,
        json_extract(stretch, '$[2]') AS last_tick_at, json_extract(stretch, '$[3]') AS count,
        json_extract(stretch, '$[4]') AS at_least, json_extract(stretch, '$[5]') AS fate,
        json_extract(stretch, '$[6]') AS reason, NULL AS run_id, NULL AS run_state, NULL AS lateness
    FROM schedules
    WHERE stretch IS NOT NULL AND (?8 IS NULL OR name = ?8)
)
WHERE
    last_tick_at >= ?3 AND tick_at >= ?9 AND tick_at < ?4 AND (tick_at, schedule, number) < (?5, ?6, ?7)
    AND (?2 IS NULL OR fate IN (SELECT value FROM json_each(?2)))
