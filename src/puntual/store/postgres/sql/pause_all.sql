INSERT INTO puntual.pause_of_all AS p (one, pause) VALUES (1, $1::text)
ON CONFLICT (one) DO UPDATE SET pause = excluded.pause
