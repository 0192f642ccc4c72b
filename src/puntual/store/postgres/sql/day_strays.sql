-- $1 day, $2 how far to count. Rows of a day that has no partition yet.
SELECT
    (SELECT count(*) FROM (SELECT FROM puntual.run_history_other WHERE expires_on = $1::integer LIMIT $2::bigint) AS r)
    + (
        SELECT count(*) FROM (
            SELECT FROM puntual.attempt_responses_other WHERE expires_on = $1::integer LIMIT $2::bigint
        ) AS a
    )
