-- Where each of these runs stands: id, state, place among the live ones, whose.
WITH given (id) AS (VALUES (:row))
SELECT json_group_array(json_array(
    given.id, coalesce(r.state, (SELECT h.state FROM run_history AS h WHERE h.id = given.id)), r.seq, r.schedule_id
))
FROM given LEFT JOIN runs AS r ON r.id = given.id WHERE given.id IS NOT NULL
