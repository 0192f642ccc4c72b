-- ?1 now, ?2 since, ?3 how many are counted, ?4 how many are named
-- Every part reads an index that holds only what went wrong, and no further than is counted.
SELECT json_object(
    'now', ?1,
    'dead', json((
        SELECT json_object('count', count(*), 'first', json_group_array(id) FILTER (WHERE place <= ?4)) FROM (
            SELECT id, row_number() OVER (ORDER BY finished_at DESC) AS place FROM (
                SELECT h.id, h.finished_at FROM run_history AS h
                WHERE h.state = 'dead' AND h.discarded_at IS NULL AND h.finished_at >= ?2
                ORDER BY h.finished_at DESC LIMIT ?3 + 1
            )
        )
    )),
    'retrying', json((
        SELECT json_object('count', count(*), 'first', json_group_array(id) FILTER (WHERE place <= ?4)) FROM (
            SELECT id, row_number() OVER (ORDER BY started_at DESC) AS place FROM (
                SELECT r.id, r.started_at FROM runs AS r
                WHERE
                    r.started_at > 0 AND r.attempt > r.released
                    AND json_extract(r.attempts, '$[#-1][6].type') IS NOT NULL
                ORDER BY r.started_at DESC LIMIT ?3 + 1
            )
        )
    )),
    'missed', json((
        SELECT json_object('count', coalesce(sum(count), 0), 'at_least', json(iif(max(at_least), 'true', 'false')))
        FROM (
            SELECT * FROM (
                SELECT t.count, t.at_least FROM tick_stretches AS t
                WHERE t.fate = 'missed' AND t.last_tick_at >= ?2 AND t.tick_at < ?1
                ORDER BY t.last_tick_at DESC LIMIT ?3 + 1
            )
            UNION ALL
            SELECT json_extract(o.stretch, '$[3]'), json_extract(o.stretch, '$[4]') FROM schedules AS o
            WHERE
                o.stretch IS NOT NULL AND o.name > '' AND json_extract(o.stretch, '$[5]') = 'missed'
                AND json_extract(o.stretch, '$[2]') >= ?2 AND json_extract(o.stretch, '$[1]') < ?1
        )
    )),
    'late', json((
        SELECT json_object('count', count(*), 'first', json_group_array(id) FILTER (WHERE place <= ?4)) FROM (
            SELECT id, row_number() OVER (ORDER BY tick_at DESC) AS place FROM (
                SELECT * FROM (
                    SELECT h.id, h.tick_at FROM run_history AS h
                    WHERE
                        h.tick_number IS NOT NULL AND h.started_at - h.due_at > 60000000
                        AND h.tick_at >= ?2 AND h.tick_at < ?1
                    ORDER BY h.tick_at DESC LIMIT ?3 + 1
                )
                UNION ALL
                SELECT r.id, r.tick_at FROM runs AS r
                WHERE
                    r.started_at > 0 AND r.tick_number IS NOT NULL AND r.started_at - r.due_at > 60000000
                    AND r.tick_at >= ?2 AND r.tick_at < ?1
            )
            LIMIT ?3 + 1
        )
    )),
    'unplanned', json((
        SELECT json_object('count', count(*), 'first', json_group_array(name) FILTER (WHERE place <= ?4)) FROM (
            SELECT name, row_number() OVER (ORDER BY name) AS place FROM (
                SELECT u.name FROM schedules AS u WHERE u.trouble IS NOT NULL AND u.name > '' LIMIT ?3 + 1
            )
        )
    ))
)
