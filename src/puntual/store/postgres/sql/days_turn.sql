-- One process at a time makes or drops days; $1 how long to wait for a table. All of it holds until the transaction ends.
-- Days are read whole, in whatever order is best: the session's settings are those of statements that read a few rows.
SELECT
    pg_try_advisory_xact_lock(hashtextextended('puntual.days', 0)) AS mine,
    set_config('lock_timeout', $1::text, true), set_config('statement_timeout', '0', true),
    set_config('enable_seqscan', 'on', true)
