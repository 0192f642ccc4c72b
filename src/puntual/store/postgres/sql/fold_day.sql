-- Reads the ticks and nothing else of the day; answers how many runs it has.
WITH gone AS (
    SELECT schedule_id, schedule, tick_number, tick_at, state, started_at FROM puntual.run_history_DATE
    WHERE tick_number IS NOT NULL
),
$fold
SELECT count(*) FROM puntual.run_history_DATE
