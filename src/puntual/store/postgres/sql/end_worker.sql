UPDATE puntual.workers SET ended_at = $2::bigint, lease_until = least(lease_until, $2::bigint)
WHERE id = $1::text AND ended_at IS NULL
