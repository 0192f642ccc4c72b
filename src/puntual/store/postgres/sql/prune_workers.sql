DELETE FROM puntual.workers WHERE ended_at < $1::bigint
