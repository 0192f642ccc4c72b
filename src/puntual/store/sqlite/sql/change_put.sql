-- A spec that is NULL stays as it is.
WITH given (
    id, name, owner, revision, spec, created_at, updated_at, pause, look_at, next_tick_at, next_due_at, last_tick_at,
    last_number, seen_at, caught_up, stretch, trouble, tzdata
) AS (VALUES (:row))
INSERT INTO schedules (
    id, name, owner, revision, spec, created_at, updated_at, pause, look_at, next_tick_at, next_due_at, last_tick_at,
    last_number, seen_at, caught_up, stretch, trouble, tzdata
)
SELECT
    id, name, owner, revision, coalesce(spec, (SELECT old.spec FROM schedules AS old WHERE old.id = given.id)), created_at,
    updated_at, pause, look_at, next_tick_at, next_due_at, last_tick_at, last_number, seen_at, caught_up, stretch, trouble,
    tzdata
FROM given WHERE id IS NOT NULL
ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, owner = excluded.owner, revision = excluded.revision, spec = excluded.spec,
    created_at = excluded.created_at, updated_at = excluded.updated_at, pause = excluded.pause,
    look_at = excluded.look_at, next_tick_at = excluded.next_tick_at, next_due_at = excluded.next_due_at,
    last_tick_at = excluded.last_tick_at, last_number = excluded.last_number, seen_at = excluded.seen_at,
    caught_up = excluded.caught_up, stretch = excluded.stretch, trouble = excluded.trouble,
    tzdata = excluded.tzdata
