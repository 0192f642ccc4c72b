DELETE FROM workers WHERE ended_at < ?1
