-- Live runs only: pending and running. What ended moves to run_history in the statement that ends it.
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    args TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running')),
    origin TEXT NOT NULL CHECK (origin IN ('tick', 'event', 'hook', 'trigger', 'backfill', 'replay')),
    replay_of TEXT,
    schedule_id TEXT,
    schedule TEXT,
    tick_at INTEGER,
    tick_number INTEGER,
    due_at INTEGER NOT NULL,
    claim_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL CHECK (max_attempts > 0),
    released INTEGER NOT NULL DEFAULT 0 CHECK (released BETWEEN 0 AND attempt),
    interrupted INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    claimed_at INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0 CHECK (cancel_requested IN (0, 1)),
    unique_key TEXT,
    tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    policy TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(policy)),
    attempts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(attempts)),
    CHECK ((state = 'running') = (worker IS NOT NULL AND claimed_at IS NOT NULL)),
    CHECK (tick_number IS NULL OR (tick_at IS NOT NULL AND schedule_id IS NOT NULL AND schedule IS NOT NULL))
) STRICT;

-- One lane for each queue, priority and task: a worker seeks the lanes of the tasks it knows, and passes no other run.
CREATE INDEX runs_claim ON runs (queue, priority, task, claim_at) WHERE state = 'pending' AND lost < 2;
-- By queue for its concurrency; by worker it is read whole: there are never more running rows than slots in the fleet.
-- The state stands in it because SQLite checks it again, and would read the row for it.
CREATE INDEX runs_running ON runs (queue, worker, state) WHERE state = 'running';
CREATE INDEX runs_alone ON runs (claim_at) WHERE state = 'pending' AND lost > 1;
CREATE INDEX runs_cancelling ON runs (worker, state) WHERE cancel_requested = 1;
CREATE INDEX runs_schedule ON runs (schedule_id, due_at) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_schedule_name ON runs (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX runs_ticks ON runs (schedule, tick_at, tick_number) WHERE tick_number IS NOT NULL;
CREATE INDEX runs_all_ticks ON runs (tick_at, schedule, tick_number) WHERE tick_number IS NOT NULL;
CREATE UNIQUE INDEX runs_unique_key ON runs (task, unique_key) WHERE unique_key IS NOT NULL;
-- Runs that were put back after a start: few, and what `status` tells as being tried again.
CREATE INDEX runs_tried ON runs (started_at) WHERE started_at IS NOT NULL;

-- A live run in the shape of a finished one, so that one list of columns reads both.
CREATE VIEW live_runs AS
SELECT *, NULL AS reason, NULL AS finished_at, NULL AS result, NULL AS discarded_at FROM runs;

CREATE TABLE run_history (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    args TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('succeeded', 'dead', 'cancelled')),
    reason TEXT,
    origin TEXT NOT NULL,
    replay_of TEXT,
    schedule_id TEXT,
    schedule TEXT,
    tick_at INTEGER,
    tick_number INTEGER,
    due_at INTEGER NOT NULL,
    claim_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    released INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    worker TEXT,
    claimed_at INTEGER,
    cancel_requested INTEGER NOT NULL,
    unique_key TEXT,
    tags TEXT NOT NULL CHECK (json_valid(tags)),
    policy TEXT NOT NULL CHECK (json_valid(policy)),
    attempts TEXT NOT NULL CHECK (json_valid(attempts)),
    result TEXT,
    discarded_at INTEGER,
    expires_on INTEGER NOT NULL,
    CHECK (state = 'dead' OR (reason IS NULL AND discarded_at IS NULL)),
    CHECK (state = 'succeeded' OR result IS NULL)
) STRICT;

CREATE INDEX history_expiry ON run_history (expires_on);
-- The columns of a condition stand in the indexes of which a list counts how far it may read.
CREATE INDEX history_dead ON run_history (id, state, discarded_at) WHERE state = 'dead' AND discarded_at IS NULL;
CREATE INDEX history_dead_queue ON run_history (queue, state, discarded_at) WHERE state = 'dead' AND discarded_at IS NULL;
CREATE INDEX history_cancelled ON run_history (id, state) WHERE state = 'cancelled';
CREATE INDEX history_schedule ON run_history (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX history_ticks ON run_history (schedule, tick_at, tick_number) WHERE tick_number IS NOT NULL;
CREATE INDEX history_all_ticks ON run_history (tick_at, schedule, tick_number) WHERE tick_number IS NOT NULL;
-- Ticks whose run was cancelled before it was ever started: few, and told as skipped.
CREATE INDEX history_skipped ON run_history (tick_at, schedule)
WHERE tick_number IS NOT NULL AND state = 'cancelled' AND started_at IS NULL;
-- What went wrong lately, counted without reading what went well; the columns of each condition stand in its index.
CREATE INDEX history_died ON run_history (finished_at, id, state, discarded_at)
WHERE state = 'dead' AND discarded_at IS NULL;
-- A minute is `requests.LATE_US`.
CREATE INDEX history_late ON run_history (tick_at, id, tick_number, started_at, due_at)
WHERE tick_number IS NOT NULL AND started_at - due_at > 60000000;

-- What came back from outside, kept as long as its run.
CREATE TABLE attempt_responses (
    run_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    body BLOB NOT NULL,
    content_type TEXT,
    headers TEXT NOT NULL,
    truncated INTEGER NOT NULL,
    PRIMARY KEY (run_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    owner TEXT,
    revision INTEGER NOT NULL,
    spec TEXT NOT NULL CHECK (json_valid(spec)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    pause TEXT CHECK (pause IS NULL OR json_valid(pause)),
    look_at INTEGER,
    next_tick_at INTEGER,
    next_due_at INTEGER,
    last_tick_at INTEGER NOT NULL,
    last_number INTEGER NOT NULL,
    seen_at INTEGER,
    caught_up INTEGER NOT NULL,
    stretch TEXT CHECK (stretch IS NULL OR json_valid(stretch)),
    -- Why it cannot be planned, if it cannot.
    trouble TEXT
) STRICT;

CREATE INDEX schedules_look ON schedules (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX schedules_open ON schedules (name) WHERE stretch IS NOT NULL;
CREATE INDEX schedules_trouble ON schedules (name, trouble) WHERE trouble IS NOT NULL;

-- Ticks that made no run, and those whose run has expired: consecutive numbers with one fate are one row.
CREATE TABLE tick_stretches (
    schedule_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    schedule TEXT NOT NULL,
    tick_at INTEGER NOT NULL,
    last_tick_at INTEGER NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0),
    at_least INTEGER NOT NULL CHECK (at_least IN (0, 1)),
    fate TEXT NOT NULL CHECK (fate IN ('ran', 'skipped', 'missed', 'coalesced')),
    reason TEXT,
    PRIMARY KEY (schedule_id, number),
    CHECK (tick_at <= last_tick_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX stretches_ticks ON tick_stretches (schedule, tick_at);
CREATE INDEX stretches_all_ticks ON tick_stretches (tick_at, schedule);
CREATE INDEX stretches_missed ON tick_stretches (last_tick_at, tick_at, fate, count, at_least) WHERE fate = 'missed';

CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    roles TEXT NOT NULL CHECK (json_valid(roles)),
    queues TEXT CHECK (queues IS NULL OR json_valid(queues)),
    tasks TEXT NOT NULL CHECK (json_valid(tasks)),
    concurrency INTEGER NOT NULL,
    version TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    lease_us INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    ended_at INTEGER,
    draining INTEGER NOT NULL DEFAULT 0 CHECK (draining IN (0, 1)),
    held INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    lease_us INTEGER NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE queues (
    name TEXT NOT NULL PRIMARY KEY,
    paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    pause_reason TEXT,
    concurrency INTEGER CHECK (concurrency >= 0)
) STRICT, WITHOUT ROWID;

-- The last pause of everything, active or over: plans tell by it the ticks that were paused from those that were missed.
CREATE TABLE pause_of_all (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    pause TEXT NOT NULL CHECK (json_valid(pause))
) STRICT;

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
