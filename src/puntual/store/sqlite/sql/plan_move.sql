WITH given (
    id, look_at, next_tick_at, next_due_at, last_tick_at, last_number, seen_at, caught_up, stretch, trouble, tzdata
) AS (VALUES (:row))
UPDATE schedules SET
    look_at = given.look_at, next_tick_at = given.next_tick_at, next_due_at = given.next_due_at,
    last_tick_at = given.last_tick_at, last_number = given.last_number, seen_at = given.seen_at,
    caught_up = given.caught_up, stretch = given.stretch, trouble = given.trouble,
    tzdata = given.tzdata
FROM given WHERE schedules.id = given.id
