-- Each guarded by the revision and the next tick that were read; those whose guard held are answered.
UPDATE puntual.schedules AS s SET
    look_at = given.look_at, next_tick_at = given.next_tick_at, next_due_at = given.next_due_at,
    last_tick_at = given.last_tick_at, last_number = given.last_number, seen_at = given.seen_at,
    caught_up = given.caught_up, stretch = given.stretch, trouble = given.trouble, tzdata = given.tzdata
FROM unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[]
) AS given (
    id, revision, was_next_tick_at, look_at, next_tick_at, next_due_at, last_tick_at, last_number, seen_at, caught_up,
    stretch, trouble, tzdata
)
WHERE s.id = given.id AND s.revision = given.revision AND s.next_tick_at IS NOT DISTINCT FROM given.was_next_tick_at
RETURNING s.id
