UPDATE puntual.runs AS r
SET state = 'running', attempt = r.attempt + 1, worker = $1::text, claimed_at = picked.now
FROM picked WHERE r.ctid = picked.spot
