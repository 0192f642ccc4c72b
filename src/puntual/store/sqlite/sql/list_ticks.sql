-- ?1 limit, ?2 fates or NULL, ?3 since, ?4 until, ?5 ?6 ?7 the tick, schedule and number of the last one seen, ?8 schedule
-- Each part is read from its own index in the order of the whole list, and no further than the page is long.
SELECT json_group_array(json_object(
    'schedule', schedule, 'number', number, 'tick_at', tick_at, 'last_tick_at', last_tick_at, 'count', count,
    'at_least', json(iif(at_least, 'true', 'false')), 'fate', fate, 'reason', reason, 'run_id', run_id,
    'run_state', run_state, 'lateness_us', lateness
))
FROM (
    SELECT * FROM (
        SELECT
            schedule, tick_number AS number, tick_at, tick_at AS last_tick_at, 1 AS count, 0 AS at_least,
            iif(started_at IS NULL, 'planned', 'ran') AS fate, NULL AS reason, id AS run_id, state AS run_state,
            started_at - due_at AS lateness
        FROM runs
        WHERE
            tick_number IS NOT NULL AND ONE_SCHEDULE
            AND tick_at >= ?3 AND tick_at < ?4 AND (tick_at, schedule, tick_number) < (?5, ?6, ?7)
            AND (?2 IS NULL OR iif(started_at IS NULL, 'planned', 'ran') IN (SELECT value FROM json_each(?2)))
        ORDER BY tick_at DESC, schedule DESC, tick_number DESC LIMIT ?1
    )
    UNION ALL
    SELECT * FROM (
        SELECT
            schedule, tick_number, tick_at, tick_at, 1, 0, 'ran', NULL, id, state, started_at - due_at
        FROM run_history
        WHERE
            tick_number IS NOT NULL AND ONE_SCHEDULE
            AND tick_at >= ?3 AND tick_at < ?4 AND (tick_at, schedule, tick_number) < (?5, ?6, ?7)
            AND (?2 IS NULL OR 'ran' IN (SELECT value FROM json_each(?2)))
        ORDER BY tick_at DESC, schedule DESC, tick_number DESC LIMIT ?1
    )
    UNION ALL
    SELECT * FROM (
        SELECT schedule, number, tick_at, last_tick_at, count, at_least, fate, reason, NULL, NULL, NULL
        FROM tick_stretches
        WHERE
            ONE_SCHEDULE
            AND last_tick_at >= ?3 AND tick_at < ?4 AND (tick_at, schedule, number) < (?5, ?6, ?7)
            AND (?2 IS NULL OR fate IN (SELECT value FROM json_each(?2)))
        ORDER BY tick_at DESC, schedule DESC, number DESC LIMIT ?1
    )
    UNION ALL
    SELECT * FROM (
        SELECT
            name AS schedule, json_extract(stretch, '$[0]') AS number, json_extract(stretch, '$[1]') AS tick_at,
            json_extract(stretch, '$[2]') AS last_tick_at, json_extract(stretch, '$[3]'),
            json_extract(stretch, '$[4]'), json_extract(stretch, '$[5]') AS fate, json_extract(stretch, '$[6]'),
            NULL, NULL, NULL
        FROM schedules
        WHERE stretch IS NOT NULL AND (?8 IS NULL OR name = ?8)
    )
    WHERE
        last_tick_at >= ?3 AND tick_at < ?4 AND (tick_at, schedule, number) < (?5, ?6, ?7)
        AND (?2 IS NULL OR fate IN (SELECT value FROM json_each(?2)))
    ORDER BY tick_at DESC, schedule DESC, number DESC LIMIT ?1
)
