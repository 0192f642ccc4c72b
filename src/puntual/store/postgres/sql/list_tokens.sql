SELECT coalesce(json_agg(json_build_object(
    'id', id, 'name', name, 'prefix', prefix, 'digest', digest, 'scope', scope, 'created_at', created_at,
    'expires_at', expires_at
) ORDER BY created_at, id), '[]')::text
FROM puntual.tokens
