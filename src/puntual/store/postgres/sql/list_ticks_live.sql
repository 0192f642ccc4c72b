(
    SELECT
        schedule, tick_number AS number, tick_at, tick_at AS last_tick_at, 1::bigint AS count, false AS at_least,
        CASE WHEN started_at IS NULL THEN 'planned' ELSE 'ran' END AS fate, NULL::text AS reason, id::text AS run_id,
        state AS run_state, started_at - due_at AS lateness
    FROM puntual.runs
    WHERE
        tick_number IS NOT NULL AND PLACE >= (AT greatest($3::bigint, $9::bigint)) AND PLACE < (AT $4::bigint)
        AND (tick_at, schedule, tick_number) < ($5::bigint, $6::text, $7::bigint)
        AND ($2::text[] IS NULL OR CASE WHEN started_at IS NULL THEN 'planned' ELSE 'ran' END = ANY($2))
    ORDER BY ORDERED, tick_number DESC LIMIT $1::bigint
)
