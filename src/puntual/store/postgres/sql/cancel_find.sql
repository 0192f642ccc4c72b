-- The live ones of these runs, locked in the order of their ids: as they are once whoever held them has let go.
SELECT coalesce(json_agg(json_build_array(id, state) ORDER BY id), '[]')::text FROM (
    SELECT r.id, r.state FROM puntual.runs AS r WHERE r.id = ANY ($1::text[]::uuid[]) ORDER BY r.id FOR UPDATE
) AS held
