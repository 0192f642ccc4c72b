INSERT INTO pause_of_all (only, pause) VALUES (1, ?1) ON CONFLICT (only) DO UPDATE SET pause = excluded.pause
