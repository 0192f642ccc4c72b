-- Whoever writes schedules by what calendars mean waits for who changes one, and the other way round: else the change
-- would not see the schedule, nor the schedule the change. Many may hold it at once.
LOCK TABLE puntual.calendars IN SHARE MODE
