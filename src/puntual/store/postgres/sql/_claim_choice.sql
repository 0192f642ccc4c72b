-- The shares of a class that has less pass down, and what the lowest leaves goes to whoever has more, from the top.
ranked AS MATERIALIZED (
    SELECT due.*, row_number() OVER (PARTITION BY priority ORDER BY claim_at, spot) AS rank FROM due
),
share AS MATERIALIZED (
    SELECT ARRAY[first, second - first, third - second, fourth - third] AS of
    FROM (
        SELECT
            count(*) FILTER (WHERE priority = 0) AS criticals, count(*) FILTER (WHERE priority = 1) AS highs,
            count(*) FILTER (WHERE priority = 2) AS normals, count(*) FILTER (WHERE priority = 3) AS lows
        FROM due
    ) AS counted
    CROSS JOIN LATERAL (SELECT least(criticals, ($10::integer[])[1]) AS first) AS a
    CROSS JOIN LATERAL (SELECT least(first + highs, ($10::integer[])[2]) AS second) AS b
    CROSS JOIN LATERAL (SELECT least(second + normals, ($10::integer[])[3]) AS third) AS c
    CROSS JOIN LATERAL (SELECT least(third + lows, ($10::integer[])[4]) AS fourth) AS d
),
chosen AS (
    SELECT ranked.*, row_number() OVER (
        ORDER BY
            CASE WHEN rank <= share.of[priority + 1] THEN (rank - 0.5::real) / share.of[priority + 1] ELSE 1 + priority END,
            priority, rank
    ) AS place
    FROM ranked CROSS JOIN share
),
fit AS MATERIALIZED (
    SELECT summed.spot, summed.queue, summed.place
    FROM (
        SELECT chosen.spot, chosen.queue, chosen.place, sum(chosen.size) OVER (ORDER BY chosen.place) AS size
        FROM chosen WHERE chosen.place <= $4::integer
    ) AS summed
    WHERE summed.size <= $11::bigint OR summed.place = 1
)
