-- $1 now or NULL, $2 floor. Whether there is anything to do, without beginning a transaction for it.
SELECT
    coalesce($1::bigint, puntual.now_us()) AS now,
    (SELECT min(s.look_at) FROM puntual.schedules AS s WHERE s.look_at >= $2::bigint AND NOT $never_ends) AS look_at
