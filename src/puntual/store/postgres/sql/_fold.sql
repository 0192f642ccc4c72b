-- The ticks of the runs that are `gone` become as few stretches as there can be; $1 those before it are forgotten.
ticks AS (
    SELECT schedule_id, schedule, tick_number AS number, tick_at, state = 'cancelled' AND started_at IS NULL AS skipped
    FROM gone WHERE tick_number IS NOT NULL AND tick_at >= $1::bigint
),
islands AS MATERIALIZED (
    SELECT
        schedule_id, min(schedule) AS schedule, skipped, min(number) AS number, max(number) AS last,
        min(tick_at) AS tick_at, max(tick_at) AS last_tick_at
    FROM (
        SELECT *, number - dense_rank() OVER (PARTITION BY schedule_id, skipped ORDER BY number) AS island FROM ticks
    ) AS numbered
    GROUP BY schedule_id, skipped, island
),
-- The stretches of the same fate that end just before, or begin just after: they are taken out, and joined.
beside AS (
    DELETE FROM puntual.tick_stretches AS t USING (
        SELECT DISTINCT b.schedule_id, b.number FROM islands AS i CROSS JOIN LATERAL (
            (
                SELECT p.* FROM puntual.tick_stretches AS p
                WHERE p.schedule_id = i.schedule_id AND p.number < i.number ORDER BY p.number DESC LIMIT 1
            )
            UNION ALL
            SELECT p.* FROM puntual.tick_stretches AS p WHERE p.schedule_id = i.schedule_id AND p.number = i.last + 1
        ) AS b
        WHERE
            b.number + b.count >= i.number AND NOT b.at_least
            AND CASE WHEN i.skipped THEN b.fate = 'skipped' AND b.reason = 'cancelled' ELSE b.fate = 'ran' END
    ) AS n
    WHERE t.schedule_id = n.schedule_id AND t.number = n.number
    RETURNING
        t.schedule_id, t.schedule, t.fate = 'skipped' AS skipped, t.number, t.number + t.count - 1 AS last, t.tick_at,
        t.last_tick_at
),
pieces AS (
    SELECT *, number IS DISTINCT FROM lag(last) OVER (PARTITION BY schedule_id, skipped ORDER BY number) + 1 AS parted
    FROM (
        SELECT schedule_id, schedule, skipped, number, last, tick_at, last_tick_at FROM islands
        UNION ALL
        SELECT schedule_id, schedule, skipped, number, last, tick_at, last_tick_at FROM beside
    ) AS unjoined
),
kept AS (
    INSERT INTO puntual.tick_stretches (
        schedule_id, schedule, number, tick_at, last_tick_at, count, at_least, fate, reason
    )
    SELECT
        schedule_id, min(schedule), min(number), min(tick_at), max(last_tick_at), max(last) - min(number) + 1, false,
        CASE WHEN skipped THEN 'skipped' ELSE 'ran' END, CASE WHEN skipped THEN 'cancelled' END
    FROM (
        SELECT *, count(*) FILTER (WHERE parted) OVER (PARTITION BY schedule_id, skipped ORDER BY number) AS stretch
        FROM pieces
    ) AS joined
    GROUP BY schedule_id, skipped, stretch
    ON CONFLICT DO NOTHING
)
