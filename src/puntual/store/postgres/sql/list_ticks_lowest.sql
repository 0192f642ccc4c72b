-- The instant after as many ticks of one part as a page may read. $1 since, $2 until, $3 how many, $4 schedule or NULL
SELECT tick_at FROM puntual.PART
WHERE TICKS AND PLACE >= (AT $1::bigint) AND PLACE < (AT $2::bigint) AND ($4::text IS NULL OR schedule = $4)
ORDER BY ORDERED OFFSET $3::bigint LIMIT 1
