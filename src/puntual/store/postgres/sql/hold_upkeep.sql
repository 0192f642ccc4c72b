-- $1 holder, $2 length, $3 now, $4 for how long it must have been free. One further away than its own length was written
-- before a clock stepped back: it counts from now.
INSERT INTO puntual.leases AS held (name, holder, lease_us, lease_until)
VALUES ('upkeep', $1::text, $2::bigint, $3::bigint + $2::bigint)
ON CONFLICT (name) DO UPDATE SET (holder, lease_us, lease_until) = (
    SELECT
        CASE WHEN mine THEN excluded.holder ELSE held.holder END,
        CASE WHEN mine THEN excluded.lease_us ELSE held.lease_us END,
        CASE WHEN mine THEN excluded.lease_until ELSE $3::bigint + held.lease_us END
    FROM (SELECT held.holder = excluded.holder OR held.lease_until <= $3::bigint - $4::bigint AS mine) AS verdict
)
WHERE
    held.holder = excluded.holder OR held.lease_until <= $3::bigint - $4::bigint
    OR held.lease_until > $3::bigint + held.lease_us
RETURNING holder = $1::text
