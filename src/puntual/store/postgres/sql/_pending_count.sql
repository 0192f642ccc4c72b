(
    SELECT count(*) FROM (
        SELECT 1 FROM puntual.runs AS r WHERE r.state = 'pending' AND r.lost < 2 AND r.queue = n.name LIMIT $2::bigint
    ) AS few
)
