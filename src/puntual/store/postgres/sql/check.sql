-- What tells whether the server suits us. Of sessions of other roles only those that may be seen are told of.
SELECT
    current_setting('server_version') AS version,
    current_setting('server_version_num')::integer / 10000 AS major,
    pg_is_in_recovery() AS standby,
    current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS vacuumed,
    current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean AS safe,
    current_setting('synchronous_commit') AS commits,
    current_setting('enable_seqscan')::boolean AS bare,
    current_setting('max_connections')::integer AS most,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connected,
    (SELECT max(version) FROM puntual.schema_migrations) AS schema,
    pg_database_size(current_database()) AS bytes,
    (
        SELECT coalesce(max(pg_wal_lsn_diff(
            CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn
        )), 0)::bigint
        FROM pg_replication_slots WHERE NOT active
    ) AS held_wal,
    oldest.seconds AS oldest_seconds,
    oldest.who AS oldest_who,
    oldest.writes AS oldest_writes
FROM (SELECT 1) AS one
LEFT JOIN LATERAL (
    SELECT
        extract(epoch FROM clock_timestamp() - a.xact_start)::bigint AS seconds,
        coalesce(nullif(a.application_name, ''), a.usename::text, '?') AS who,
        a.backend_xid IS NOT NULL AS writes
    FROM pg_stat_activity AS a
    WHERE a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
    ORDER BY a.xact_start LIMIT 1
) AS oldest ON true
