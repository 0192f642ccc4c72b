(SELECT w.ended_at IS NULL FROM puntual.workers AS w WHERE w.id = $1::text)
