-- $1 ids
SELECT json_build_array((SELECT p.pause::json FROM puntual.pause_of_all AS p), (
    SELECT coalesce(json_agg(json_build_object('schedule', $schedule, 'live', ($live_ids))), '[]'::json)
    FROM unnest($1::text[]) AS given (id) JOIN puntual.schedules AS s ON s.id = given.id
))
