(
    SELECT
        o.schedule, o.number, o.tick_at, o.last_tick_at, o.count, o.at_least, o.fate, o.reason, NULL::text AS run_id,
        NULL::text AS run_state, NULL::bigint AS lateness
    FROM (
        SELECT s.name AS schedule, $open_stretch FROM puntual.schedules AS s
        WHERE s.stretch IS NOT NULL AND ONE_NAME
    ) AS o (schedule, number, tick_at, last_tick_at, count, at_least, fate, reason)
    WHERE
        o.last_tick_at >= $3::bigint AND o.tick_at >= $9::bigint AND o.tick_at < $4::bigint
        AND (o.tick_at, o.schedule, o.number) < ($5::bigint, $6::text, $7::bigint)
        AND ($2::text[] IS NULL OR o.fate = ANY($2))
)
