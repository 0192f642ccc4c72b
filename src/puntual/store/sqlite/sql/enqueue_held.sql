-- Which of these (task, unique key) a live run holds, and which run.
WITH given (task, unique_key) AS (VALUES (:row))
SELECT json_group_array(json_array(r.task, r.unique_key, r.id))
FROM given CROSS JOIN runs AS r ON r.task = given.task AND r.unique_key = given.unique_key
