(
    SELECT count(*) FROM (
        -- Any order will do; the index of lanes has this one.
        SELECT 1 FROM puntual.runs AS r WHERE r.state = 'pending' AND r.lost < 2 AND r.queue = n.name
        ORDER BY r.shard, r.priority, r.claim_at LIMIT $2::bigint
    ) AS few
)
