-- oldest: 2
-- Named sets of days. What each means now is kept beside what was written, so that no reader has to fetch or compute it.
CREATE TABLE puntual.calendars (
    name text NOT NULL PRIMARY KEY,
    owner text,
    version bigint NOT NULL,
    definition text NOT NULL CHECK (definition::json IS NOT NULL),
    days text NOT NULL CHECK (days::json IS NOT NULL),
    updated_at bigint NOT NULL,
    -- When its days were last read anew, whether they had changed or not, and why the last reading failed, if it did.
    refreshed_at bigint NOT NULL,
    trouble text
);

-- The version of the tz database that next_tick_at was computed with.
ALTER TABLE puntual.schedules ADD COLUMN tzdata text;
