-- Queues that have runs and no name among the lanes: no claimer would ever look at them.
WITH RECURSIVE $waiting_names
INSERT INTO puntual.lanes (queue)
SELECT w.queue FROM waiting AS w
WHERE w.queue IS NOT NULL AND NOT EXISTS (SELECT 1 FROM puntual.lanes AS l WHERE l.queue = w.queue)
ON CONFLICT DO NOTHING
