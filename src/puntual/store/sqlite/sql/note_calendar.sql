-- ?1 name, ?2 version, ?3 refreshed_at, ?4 trouble
UPDATE calendars SET refreshed_at = ?3, trouble = ?4 WHERE name = ?1 AND version = ?2
