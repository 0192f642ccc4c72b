(
    SELECT count(*) FROM (
        SELECT 1 FROM puntual.run_history AS h
        WHERE h.state = 'dead' AND h.discarded_at IS NULL AND h.queue = n.name LIMIT $2::bigint
    ) AS few
)
