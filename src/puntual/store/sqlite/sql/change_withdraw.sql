DELETE FROM runs
WHERE
    id IN (SELECT value FROM json_each(?1)) AND state = 'pending' AND origin = 'tick' AND attempt = 0
    AND due_at > ?2
