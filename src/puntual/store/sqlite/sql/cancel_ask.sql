UPDATE runs SET cancel_requested = 1
WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'running' AND cancel_requested = 0
