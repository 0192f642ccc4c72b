-- ?1 limit, ?2 fates or NULL, ?3 since, ?4 until, ?5 ?6 ?7 the tick, schedule and number of the last one seen, ?8 schedule,
-- ?9 down to which instant ticks may be read. The parts are list_ticks_*, with these parameters.
-- Each part is read from its own index in the order of the whole list, and no further than the page is long.
SELECT json_group_array(json_object(
    'schedule', schedule, 'number', number, 'tick_at', tick_at, 'last_tick_at', last_tick_at, 'count', count,
    'at_least', json(iif(at_least, 'true', 'false')), 'fate', fate, 'reason', reason, 'run_id', run_id,
    'run_state', run_state, 'lateness_us', lateness
))
FROM (
    SELECT * FROM (PARTS)
    WHERE ?8 IS NULL OR schedule = ?8
    ORDER BY tick_at DESC, schedule DESC, number DESC LIMIT ?1
)
