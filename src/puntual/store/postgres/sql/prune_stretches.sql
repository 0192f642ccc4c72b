-- $1 before when, $2 how many
DELETE FROM puntual.tick_stretches WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM puntual.tick_stretches
    WHERE last_tick_at < $1::bigint ORDER BY last_tick_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED
))
