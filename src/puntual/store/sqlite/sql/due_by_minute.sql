-- ?1 from, ?2 until, ?3 how many at most. The pending runs that can be claimed from each minute on, but for
-- those that a tick was given ahead of its time.
SELECT json_group_array(json_array(minute, held)) FROM (
    SELECT claim_at / 60000000 * 60000000 AS minute, count(*) AS held FROM (
        SELECT claim_at FROM runs
        WHERE state = 'pending' AND claim_at >= ?1 AND claim_at < ?2 AND NOT (origin = 'tick' AND attempt = 0)
        LIMIT ?3
    ) GROUP BY 1 ORDER BY 1
)
