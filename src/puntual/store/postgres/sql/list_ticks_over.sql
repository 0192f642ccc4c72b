(
    SELECT
        h.schedule, h.tick_number AS number, h.tick_at, h.tick_at AS last_tick_at, 1::bigint AS count,
        false AS at_least, $fate_over AS fate,
        CASE WHEN h.state = 'cancelled' AND h.started_at IS NULL THEN 'cancelled' END AS reason, h.id::text AS run_id,
        h.state AS run_state, h.started_at - h.due_at AS lateness
    FROM puntual.run_history AS h
    WHERE
        tick_number IS NOT NULL AND ONE_FATE
        AND PLACE >= (AT greatest($3::bigint, $9::bigint)) AND PLACE < (AT $4::bigint)
        AND (tick_at, schedule, tick_number) < ($5::bigint, $6::text, $7::bigint)
    ORDER BY ORDERED, tick_number DESC LIMIT $1::bigint
)
