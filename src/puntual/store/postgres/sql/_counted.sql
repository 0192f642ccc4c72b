json_build_object(
    'count', count(*), 'first', coalesce(json_agg(id ORDER BY place) FILTER (WHERE place <= $4::bigint), '[]')
)
