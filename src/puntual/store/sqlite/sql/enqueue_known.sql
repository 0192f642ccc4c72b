-- Which of these ids stand already, live or in history.
WITH given (id) AS (VALUES (:row))
SELECT json_group_array(id) FROM given
WHERE
    EXISTS (SELECT 1 FROM runs WHERE runs.id = given.id)
    OR EXISTS (SELECT 1 FROM run_history WHERE run_history.id = given.id)
