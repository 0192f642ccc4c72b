-- The instant after as many ticks of one part as a page may read. ?1 since, ?2 until, ?3 how many, ?4 schedule or NULL
SELECT tick_at FROM PART
WHERE ONE_SCHEDULE AND tick_at >= ?1 AND tick_at < ?2 AND (?4 IS NULL OR schedule = ?4)
ORDER BY tick_at DESC LIMIT 1 OFFSET ?3
