-- $1 now, $2 how many, $3 floor. The schedules whose time to be looked at has come, those of other planners passed over; none while everything is
-- paused with no end. What else is read of them is read after this: then nobody changes them or makes runs of theirs.
SELECT s.id FROM puntual.schedules AS s
WHERE s.look_at >= $3::bigint AND s.look_at <= $1::bigint AND NOT $never_ends
ORDER BY s.look_at LIMIT $2::bigint FOR UPDATE OF s SKIP LOCKED
