-- A spec that is NULL stays as it is. Answers the names written: one that is missing belongs to another schedule,
-- whoever made it and however lately.
INSERT INTO puntual.schedules AS s (
    id, name, owner, revision, spec, created_at, updated_at, pause, look_at, next_tick_at, next_due_at, last_tick_at,
    last_number, seen_at, caught_up, stretch, trouble, tzdata
)
SELECT
    given.id, given.name, given.owner, given.revision,
    coalesce(given.spec, (SELECT old.spec FROM puntual.schedules AS old WHERE old.id = given.id)), given.created_at,
    given.updated_at, given.pause, given.look_at, given.next_tick_at, given.next_due_at, given.last_tick_at,
    given.last_number, given.seen_at, given.caught_up, given.stretch, given.trouble, given.tzdata
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::text[], $17::text[],
    $18::text[]
) AS given (
    id, name, owner, revision, spec, created_at, updated_at, pause, look_at, next_tick_at, next_due_at, last_tick_at,
    last_number, seen_at, caught_up, stretch, trouble, tzdata
)
ORDER BY given.name
ON CONFLICT (name) DO UPDATE SET
    owner = excluded.owner, revision = excluded.revision, spec = excluded.spec, created_at = excluded.created_at,
    updated_at = excluded.updated_at, pause = excluded.pause, look_at = excluded.look_at,
    next_tick_at = excluded.next_tick_at, next_due_at = excluded.next_due_at, last_tick_at = excluded.last_tick_at,
    last_number = excluded.last_number, seen_at = excluded.seen_at, caught_up = excluded.caught_up,
    stretch = excluded.stretch, trouble = excluded.trouble, tzdata = excluded.tzdata
WHERE s.id = excluded.id
RETURNING s.name
