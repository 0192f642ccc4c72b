(
    SELECT r.id, SHOWN AS run FROM (
        -- What is found on the way is tried row by row, in the order of the list: with its limit nothing else can be done.
        SELECT * FROM puntual.run_source AS r
        WHERE PLACE AND r.id >= (SELECT coalesce((SELECT id FROM lowest), '00000000-0000-0000-0000-000000000000'))
        ORDER BY ORDERED LIMIT $2::bigint + 1
    ) AS r
    WHERE TRUE ORDER BY ORDERED LIMIT $1::bigint
)
