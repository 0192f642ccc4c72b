-- The transaction's number first, the time second: a floor that trails every number still open passes no row of ours.
SELECT puntual.now_us() FROM (SELECT pg_current_xact_id() OFFSET 0) AS numbered
