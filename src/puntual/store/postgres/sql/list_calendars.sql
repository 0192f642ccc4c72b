-- $1 names, or NULL for all
SELECT coalesce(json_agg(json_build_object(
    'spec', definition::json, 'days', days::json, 'owner', owner, 'updated_at', updated_at,
    'refreshed_at', refreshed_at, 'trouble', trouble
) ORDER BY name), '[]')::text
FROM puntual.calendars WHERE $1::text[] IS NULL OR name = ANY($1)
