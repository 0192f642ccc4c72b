-- ?1 version, ?2 after which name, ?3 how many. The names of schedules that tick on, and whose
-- next tick was found with an older tz database than this one.
SELECT json_group_array(name) FROM (
    SELECT name FROM schedules
    WHERE next_tick_at IS NOT NULL AND trouble IS NULL AND (tzdata IS NULL OR tzdata < ?1) AND name > ?2
    ORDER BY name LIMIT ?3
)
