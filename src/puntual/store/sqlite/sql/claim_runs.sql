UPDATE runs SET state = 'running', attempt = attempt + 1, worker = ?2, claimed_at = ?3
WHERE seq IN (SELECT value FROM json_each(?1))
