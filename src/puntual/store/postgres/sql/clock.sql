-- The transaction's number first, the time second: a floor that trails every number still open passes no row of ours.
-- Without the condition on it the planner leaves the number out, since nothing reads it.
SELECT puntual.now_us() FROM (SELECT pg_current_xact_id() AS number OFFSET 0) AS numbered WHERE number IS NOT NULL
