-- $1 ids, $2 now, or NULL when nobody asks for what could be withdrawn. What could be is locked, so that it still can be
-- when it is: a run that a claimer has its hands on is past recall.
SELECT json_build_array((SELECT p.pause::json FROM puntual.pause_of_all AS p), (
    SELECT coalesce(json_agg(json_build_object(
        'schedule', $schedule, 'live', ($live_ids), 'withdrawable', coalesce(w.shown, '[]'::json),
        'behind', CASE WHEN w.ids IS NOT NULL THEN ($behind) END
    )), '[]'::json)
    FROM unnest($1::text[]) AS given (id) JOIN puntual.schedules AS s ON s.id = given.id
    CROSS JOIN LATERAL (
        SELECT json_agg(json_build_array(w.tick_number, w.tick_at, w.id)) AS shown, array_agg(w.id) AS ids FROM (
            SELECT w.tick_number, w.tick_at, w.id FROM puntual.runs AS w
            WHERE
                w.schedule_id = s.id AND w.due_at > $2::bigint AND w.state = 'pending' AND w.origin = 'tick'
                AND w.tick_number IS NOT NULL AND w.attempt = 0
            FOR UPDATE SKIP LOCKED
        ) AS w
    ) AS w
))
