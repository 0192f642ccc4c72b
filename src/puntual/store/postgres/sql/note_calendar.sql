-- $1 name, $2 version, $3 refreshed_at, $4 trouble
UPDATE puntual.calendars SET refreshed_at = $3::bigint, trouble = $4::text
WHERE name = $1::text AND version = $2::bigint
