(
    SELECT r.id, SHOWN AS run FROM (SELECT * FROM puntual.run_source AS r WHERE PLACE OFFSET 0) AS r
    WHERE TRUE ORDER BY ORDERED LIMIT $1::bigint
)
