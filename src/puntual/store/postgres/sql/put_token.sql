INSERT INTO puntual.tokens (id, name, prefix, digest, scope, created_at, expires_at)
VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::bigint)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, scope = excluded.scope, expires_at = excluded.expires_at
