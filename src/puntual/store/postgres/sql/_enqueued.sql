(SELECT now FROM clock),
(SELECT count(*) FROM inserted),
CASE
    WHEN (SELECT count(*) FROM inserted) < (SELECT count(*) FROM given) THEN (SELECT json_agg(id) FROM inserted)
END
