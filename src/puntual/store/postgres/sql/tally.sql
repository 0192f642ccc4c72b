-- $1 now, $2 since, $3 how many are counted, $4 how many are named.
-- Every part reads an index that holds only what went wrong, and no further than is counted.
WITH tried AS MATERIALIZED (
    -- Runs that were started before and are not over: those that wait as far as they may be read, and those that run.
    (
        SELECT r.id, r.started_at, r.due_at, r.tick_at, r.tick_number, r.attempt - r.released AS charged, r.attempts
        FROM puntual.runs AS r WHERE r.started_at IS NOT NULL AND r.state = 'pending'
        ORDER BY r.started_at DESC LIMIT 2 * $3::bigint + 1
    )
    UNION ALL
    SELECT r.id, r.started_at, r.due_at, r.tick_at, r.tick_number, r.attempt - r.released, r.attempts
    FROM puntual.runs AS r WHERE r.started_at IS NOT NULL AND r.state = 'running'
), unread AS (
    SELECT count(*) > 2 * $3::bigint AS more FROM tried
), failed AS (
    SELECT id, row_number() OVER (ORDER BY started_at DESC, id DESC) AS place FROM tried
    WHERE charged > 0 AND attempts::json #>> '{-1,6,type}' IS NOT NULL LIMIT $3::bigint + 1
), dead AS (
    SELECT id, row_number() OVER (ORDER BY finished_at DESC, id DESC) AS place FROM (
        SELECT h.id, h.finished_at FROM puntual.run_history AS h
        WHERE h.state = 'dead' AND h.discarded_at IS NULL AND h.finished_at >= $2::bigint
        ORDER BY h.finished_at DESC LIMIT $3::bigint + 1
    ) AS newest
), late AS (
    SELECT id, row_number() OVER (ORDER BY tick_at DESC, id DESC) AS place FROM (
        (
            SELECT h.id, h.tick_at FROM puntual.run_history AS h
            WHERE
                h.tick_number IS NOT NULL AND h.started_at - h.due_at > 60000000
                AND h.tick_at >= $2::bigint AND h.tick_at < $1::bigint
            ORDER BY h.tick_at DESC LIMIT $3::bigint + 1
        )
        UNION ALL
        SELECT id, tick_at FROM tried
        WHERE
            tick_number IS NOT NULL AND started_at - due_at > 60000000
            AND tick_at >= $2::bigint AND tick_at < $1::bigint
    ) AS newest
    ORDER BY place LIMIT $3::bigint + 1
), missed AS (
    (
        SELECT t.count, t.at_least FROM puntual.tick_stretches AS t
        WHERE t.fate = 'missed' AND t.last_tick_at >= $2::bigint AND t.tick_at < $1::bigint
        ORDER BY t.last_tick_at DESC LIMIT $3::bigint + 1
    )
    UNION ALL
    SELECT (stretch ->> 3)::bigint, (stretch ->> 4)::boolean
    FROM (SELECT o.stretch::json AS stretch FROM puntual.schedules AS o WHERE o.stretch IS NOT NULL) AS open
    WHERE
        stretch ->> 5 = 'missed' AND (stretch ->> 2)::bigint >= $2::bigint AND (stretch ->> 1)::bigint < $1::bigint
), unplanned AS (
    SELECT u.name, row_number() OVER (ORDER BY u.name) AS place FROM puntual.schedules AS u
    WHERE u.trouble IS NOT NULL ORDER BY u.name LIMIT $3::bigint + 1
)
SELECT json_build_object(
    'now', $1::bigint,
    'dead', (SELECT $counted FROM dead),
    'retrying', (
        SELECT json_build_object(
            'count', count(*), 'at_least', (SELECT more FROM unread),
            'first', coalesce(json_agg(id ORDER BY place) FILTER (WHERE place <= $4::bigint), '[]')
        ) FROM failed
    ),
    'missed', (
        SELECT json_build_object('count', coalesce(sum(count), 0), 'at_least', coalesce(bool_or(at_least), false))
        FROM missed
    ),
    'late', (SELECT $counted FROM late),
    'unplanned', (
        SELECT json_build_object(
            'count', count(*),
            'first', coalesce(json_agg(name ORDER BY place) FILTER (WHERE place <= $4::bigint), '[]')
        ) FROM unplanned
    )
)::text
