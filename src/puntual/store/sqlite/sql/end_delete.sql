DELETE FROM runs WHERE seq IN (SELECT value FROM json_each(?1))
