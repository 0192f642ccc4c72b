-- A stretch that stands already is the same one, planned again.
INSERT INTO puntual.tick_stretches (
    schedule_id, schedule, number, tick_at, last_tick_at, count, at_least, fate, reason
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[], $8::text[], $9::text[]
) AS given (schedule_id, schedule, number, tick_at, last_tick_at, count, at_least, fate, reason)
ORDER BY given.schedule_id, given.number
ON CONFLICT DO NOTHING
