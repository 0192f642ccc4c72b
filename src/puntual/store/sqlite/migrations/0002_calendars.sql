-- oldest: 1
-- Named sets of days. What each means now is kept beside what was written, so that no reader has to fetch or compute it.
CREATE TABLE calendars (
    name TEXT NOT NULL PRIMARY KEY,
    owner TEXT,
    version INTEGER NOT NULL,
    definition TEXT NOT NULL CHECK (json_valid(definition)),
    days TEXT NOT NULL CHECK (json_valid(days)),
    updated_at INTEGER NOT NULL,
    -- When its days were last read anew, whether they had changed or not, and why the last reading failed, if it did.
    refreshed_at INTEGER NOT NULL,
    trouble TEXT
) STRICT, WITHOUT ROWID;

-- The version of the tz database that next_tick_at was computed with.
ALTER TABLE schedules ADD COLUMN tzdata TEXT;
