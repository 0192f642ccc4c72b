EXISTS (SELECT 1 FROM puntual.workers AS w WHERE w.id = $1::text AND w.draining) OR coalesce((
        SELECT p.pause::json ->> 'until' IS NULL OR (p.pause::json ->> 'until')::bigint > clock.now
        FROM puntual.pause_of_all AS p
    ), false)
