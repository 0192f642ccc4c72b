EXISTS (SELECT FROM puntual.pause_of_all AS p WHERE p.pause::json ->> 'until' IS NULL)
