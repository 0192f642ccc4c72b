-- The id after as many rows as a page may read.
SELECT r.id FROM run_source AS r WHERE TRUE ORDER BY r.id DESC LIMIT 1 OFFSET ?
