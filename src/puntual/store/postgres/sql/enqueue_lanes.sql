INSERT INTO puntual.lanes (queue) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING
