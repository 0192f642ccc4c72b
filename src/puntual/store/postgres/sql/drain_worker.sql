UPDATE puntual.workers SET draining = true WHERE id = $1::text AND ended_at IS NULL
