-- The due runs of one lane. ?1 queue, ?2 priority, ?3 task, ?4 until when, ?5 how many
SELECT json_group_array(json_array(claim_at, seq, size)) FROM (
    SELECT r.seq, r.claim_at, length(r.args) AS size FROM runs AS r
    WHERE
        r.state = 'pending' AND r.lost < 2 AND r.queue = ?1 AND r.priority = ?2 AND r.task = ?3 AND r.claim_at <= ?4
    ORDER BY r.claim_at LIMIT ?5
)
