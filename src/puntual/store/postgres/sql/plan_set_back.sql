-- $1 ids, $2 until when, $3 why
UPDATE puntual.schedules AS s SET look_at = $2::bigint, trouble = given.trouble
FROM unnest($1::text[], $3::text[]) AS given (id, trouble) WHERE s.id = given.id
