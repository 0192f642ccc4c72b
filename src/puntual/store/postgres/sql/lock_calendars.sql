-- Calendars change rarely, and one after the other: so nobody makes one that somebody else has just made. Reads go on.
LOCK TABLE puntual.calendars IN SHARE ROW EXCLUSIVE MODE
