-- $2 today, $3 how many
WITH gone AS (
    DELETE FROM puntual.run_history_other WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM puntual.run_history_other
        WHERE expires_on < $2::integer ORDER BY expires_on LIMIT $3::bigint FOR UPDATE SKIP LOCKED
    ))
    RETURNING schedule_id, schedule, tick_number, tick_at, state, started_at
),
$fold
SELECT count(*) FROM gone
