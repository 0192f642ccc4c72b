INSERT INTO puntual.calendars (name, owner, version, definition, days, updated_at, refreshed_at, trouble)
VALUES ($1::text, $2::text, $3::bigint, $4::text, $5::text, $6::bigint, $7::bigint, $8::text)
ON CONFLICT (name) DO UPDATE SET
    owner = excluded.owner, version = excluded.version, definition = excluded.definition, days = excluded.days,
    updated_at = excluded.updated_at, refreshed_at = excluded.refreshed_at, trouble = excluded.trouble
