-- A schedule with a tick waiting behind a run that ended is looked at now.
UPDATE schedules SET look_at = ?2
WHERE
    id IN (SELECT value FROM json_each(?1)) AND seen_at IS NOT NULL AND (look_at IS NULL OR look_at > ?2)
