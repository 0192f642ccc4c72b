-- $1 holder, $2 length, $3 now or NULL, $4 for how long it must have been free. One further away than its own length was
-- written before a clock stepped back: it counts from now, which is what was wanted less its length.
INSERT INTO puntual.leases AS held (name, holder, lease_us, lease_until)
VALUES ('upkeep', $1::text, $2::bigint, coalesce($3::bigint, puntual.now_us()) + $2::bigint)
ON CONFLICT (name) DO UPDATE SET (holder, lease_us, lease_until) = (
    SELECT
        CASE WHEN mine THEN excluded.holder ELSE held.holder END,
        CASE WHEN mine THEN excluded.lease_us ELSE held.lease_us END,
        CASE WHEN mine THEN excluded.lease_until ELSE excluded.lease_until - excluded.lease_us + held.lease_us END
    FROM (
        SELECT
            held.holder = excluded.holder
            OR held.lease_until <= excluded.lease_until - excluded.lease_us - $4::bigint AS mine
    ) AS verdict
)
WHERE
    held.holder = excluded.holder OR held.lease_until <= excluded.lease_until - excluded.lease_us - $4::bigint
    OR held.lease_until > excluded.lease_until - excluded.lease_us + held.lease_us
RETURNING holder = $1::text
