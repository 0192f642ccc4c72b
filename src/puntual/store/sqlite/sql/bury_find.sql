-- Of these runs the live ones: id, place, whose, and the claim on it.
WITH given (id) AS (VALUES (:row))
SELECT json_group_array(json_array(r.id, r.seq, r.schedule_id, r.attempt, r.worker, r.claimed_at))
FROM given CROSS JOIN runs AS r ON r.id = given.id
