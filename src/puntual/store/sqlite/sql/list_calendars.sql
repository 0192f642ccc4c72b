-- ?1 names, or NULL for all
SELECT json_group_array(json_object(
    'spec', json(definition), 'days', json(days), 'owner', owner, 'updated_at', updated_at,
    'refreshed_at', refreshed_at, 'trouble', trouble
))
FROM (
    SELECT * FROM calendars WHERE ?1 IS NULL OR name IN (SELECT value FROM json_each(?1)) ORDER BY name
)
