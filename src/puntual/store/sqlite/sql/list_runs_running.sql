-- Few at any time: they are read whole, wherever they lie among the others.
SELECT * FROM (SELECT r.id, SHOWN AS run FROM run_source AS r WHERE TRUE ORDER BY +r.id DESC LIMIT ?)
