UPDATE runs SET
    priority = coalesce(?2, priority), queue = coalesce(?3, queue), due_at = coalesce(?4, due_at),
    claim_at = max(coalesce(?4, claim_at), ?5)
WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'pending'
