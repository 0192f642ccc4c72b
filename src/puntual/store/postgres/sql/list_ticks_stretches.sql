(
    SELECT
        schedule, number, tick_at, last_tick_at, count, at_least, fate, reason, NULL::text AS run_id,
        NULL::text AS run_state, NULL::bigint AS lateness
    FROM puntual.tick_stretches
    WHERE
        last_tick_at >= $3::bigint AND PLACE >= (AT $9::bigint) AND PLACE < (AT $4::bigint)
        AND (tick_at, schedule, number) < ($5::bigint, $6::text, $7::bigint)
        AND ($2::text[] IS NULL OR fate = ANY($2))
    ORDER BY ORDERED, number DESC LIMIT $1::bigint
)
