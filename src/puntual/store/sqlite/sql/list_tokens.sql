SELECT json_group_array(json_object(
    'id', id, 'name', name, 'prefix', prefix, 'digest', digest, 'scope', scope, 'created_at', created_at,
    'expires_at', expires_at
))
FROM (SELECT * FROM tokens ORDER BY created_at, id)
