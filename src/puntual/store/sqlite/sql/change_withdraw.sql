DELETE FROM runs
WHERE
    id IN (SELECT value FROM json_each(?1)) AND state = 'pending' AND origin = 'tick' AND attempt = released
    AND due_at > ?2
