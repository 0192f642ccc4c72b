SELECT * FROM (SELECT r.id, $run AS run FROM run_source AS r WHERE TRUE ORDER BY r.id DESC LIMIT ?)
