-- The days, counted from 1970, that have a partition of their own: they are its bound.
SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \((\d+)\)')::integer AS day
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'puntual.run_history'::regclass AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
ORDER BY day
