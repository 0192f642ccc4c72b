DELETE FROM tick_stretches WHERE (schedule_id, number) IN (
    SELECT schedule_id, number FROM tick_stretches WHERE tick_at < ?1 AND last_tick_at < ?1 ORDER BY tick_at LIMIT ?2
)
