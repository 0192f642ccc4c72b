-- $1 limit, $2 fates or NULL, $3 since, $4 until, $5 $6 $7 the tick, schedule and number of the last one seen, $8 schedule,
-- $9 down to which instant ticks may be read. The parts are list_ticks_*, with these parameters.
-- Each part is read from its own index in the order of the whole list, and no further than the page is long. With one
-- schedule asked for, PLACE is such that only the index that begins with it has that order, whatever the planner thinks
-- of a day that was empty when it was last looked at.
SELECT coalesce(json_agg(json_build_object(
    'schedule', l.schedule, 'number', l.number, 'tick_at', l.tick_at, 'last_tick_at', l.last_tick_at, 'count', l.count,
    'at_least', l.at_least, 'fate', l.fate, 'reason', l.reason, 'run_id', l.run_id, 'run_state', l.run_state,
    'lateness_us', l.lateness
)), '[]'::json)
FROM (
    SELECT * FROM (PARTS) AS parts
    WHERE $8::text IS NULL OR schedule = $8
    ORDER BY tick_at DESC, schedule DESC, number DESC LIMIT $1::bigint
) AS l
