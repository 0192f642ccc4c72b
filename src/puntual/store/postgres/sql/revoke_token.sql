DELETE FROM puntual.tokens WHERE id = $1::text
