INSERT INTO tokens (id, name, prefix, digest, scope, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, scope = excluded.scope, expires_at = excluded.expires_at
