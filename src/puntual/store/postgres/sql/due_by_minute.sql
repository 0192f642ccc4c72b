-- $1 from, $2 until, $3 how many at most. The pending runs that can be claimed from each minute on, but for
-- those that a tick was given ahead of its time.
SELECT coalesce(json_agg(json_build_array(minute, held) ORDER BY minute), '[]'::json) FROM (
    SELECT claim_at / 60000000 * 60000000 AS minute, count(*) AS held FROM (
        SELECT claim_at FROM puntual.runs
        WHERE
            state = 'pending' AND claim_at >= $1::bigint AND claim_at < $2::bigint AND NOT (origin = 'tick' AND attempt = 0)
        LIMIT $3::bigint
    ) AS pending GROUP BY 1
) AS found
