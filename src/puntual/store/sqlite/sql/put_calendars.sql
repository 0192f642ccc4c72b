WITH given (name, owner, version, definition, days, updated_at, refreshed_at, trouble) AS (VALUES (:row))
INSERT INTO calendars (name, owner, version, definition, days, updated_at, refreshed_at, trouble)
SELECT name, owner, version, definition, days, updated_at, refreshed_at, trouble FROM given WHERE name IS NOT NULL
ON CONFLICT (name) DO UPDATE SET
    owner = excluded.owner, version = excluded.version, definition = excluded.definition, days = excluded.days,
    updated_at = excluded.updated_at, refreshed_at = excluded.refreshed_at, trouble = excluded.trouble
