-- Everything lives in a schema of its own, which is there already: the database may be the application's, which
-- enqueues in its transactions.

-- The one clock: microseconds since 1970, read when it is called and not when the transaction began.
CREATE FUNCTION puntual.now_us() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

-- Live runs only: pending and running. What ended moves to run_history in the statement that ends it.
CREATE TABLE puntual.runs (
    id uuid NOT NULL PRIMARY KEY,
    task text NOT NULL,
    args text NOT NULL,
    queue text NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    -- Spreads claimers over the index: 64 of them on one range of it fall to a fifth of the rate of 4.
    shard smallint NOT NULL GENERATED ALWAYS AS ((get_byte(uuid_send(id), 15) & 31)::smallint) STORED,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running')),
    origin text NOT NULL DEFAULT 'event'
    CHECK (origin IN ('tick', 'event', 'hook', 'trigger', 'backfill', 'replay')),
    replay_of text,
    schedule_id text,
    schedule text,
    tick_at bigint,
    tick_number bigint,
    due_at bigint NOT NULL DEFAULT puntual.now_us(),
    claim_at bigint NOT NULL DEFAULT puntual.now_us(),
    created_at bigint NOT NULL DEFAULT puntual.now_us(),
    started_at bigint,
    attempt integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL CHECK (max_attempts > 0),
    released integer NOT NULL DEFAULT 0,
    interrupted integer NOT NULL DEFAULT 0,
    lost integer NOT NULL DEFAULT 0,
    worker text,
    claimed_at bigint,
    cancel_requested boolean NOT NULL DEFAULT false,
    unique_key text,
    -- Statements about many read these, and one row that they cannot read would stop them all: so each is read here as
    -- they do it (1 us for a run in its life; what says nothing is not parsed).
    tags text NOT NULL DEFAULT '[]' CHECK (tags = '[]' OR json_typeof(tags::json -> 0) IS NOT DISTINCT FROM 'string'),
    policy text NOT NULL DEFAULT '{}' CHECK (policy = '{}' OR policy::json #>> '{retry,max_attempts}' IS DISTINCT FROM ''),
    attempts text NOT NULL DEFAULT '[]' CHECK (attempts = '[]' OR attempts::json #>> '{-1,6,type}' IS DISTINCT FROM ''),
    CHECK (released BETWEEN 0 AND attempt),
    CHECK ((state = 'running') = (worker IS NOT NULL AND claimed_at IS NOT NULL)),
    CHECK (tick_number IS NULL OR (tick_at IS NOT NULL AND schedule_id IS NOT NULL AND schedule IS NOT NULL))
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1
);

CREATE INDEX runs_claim ON puntual.runs (queue, shard, priority, claim_at) WHERE state = 'pending' AND lost < 2;
-- By worker for rescue and heartbeats, by queue for its concurrency: never more rows than slots in the fleet.
CREATE INDEX runs_running ON puntual.runs (worker) WHERE state = 'running';
CREATE INDEX runs_running_queue ON puntual.runs (queue) WHERE state = 'running';
CREATE INDEX runs_alone ON puntual.runs (claim_at) WHERE state = 'pending' AND lost > 1;
CREATE INDEX runs_cancelling ON puntual.runs (worker) WHERE cancel_requested;
CREATE INDEX runs_schedule ON puntual.runs (schedule_id, due_at) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_schedule_name ON puntual.runs (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX runs_ticks ON puntual.runs (schedule, tick_at, tick_number) WHERE tick_number IS NOT NULL;
CREATE INDEX runs_all_ticks ON puntual.runs (tick_at, schedule, tick_number) WHERE tick_number IS NOT NULL;
CREATE UNIQUE INDEX runs_unique_key ON puntual.runs (task, unique_key) WHERE unique_key IS NOT NULL;
-- Runs that were put back after a start: few, and what `status` tells as being tried again.
CREATE INDEX runs_tried ON puntual.runs (started_at) WHERE started_at IS NOT NULL AND state = 'pending';

-- A live run in the shape of a finished one, so that one list of columns reads both.
CREATE VIEW puntual.live_runs AS
SELECT *, NULL::text AS reason, NULL::bigint AS finished_at, NULL::text AS result, NULL::bigint AS discarded_at
FROM puntual.runs;

-- Finished runs, in partitions by the day on which their rows may go, counted in days since 1970.
CREATE TABLE puntual.run_history (
    id uuid NOT NULL,
    task text NOT NULL,
    args text NOT NULL,
    queue text NOT NULL,
    priority smallint NOT NULL,
    state text NOT NULL CHECK (state IN ('succeeded', 'dead', 'cancelled')),
    reason text,
    origin text NOT NULL,
    replay_of text,
    schedule_id text,
    schedule text,
    tick_at bigint,
    tick_number bigint,
    due_at bigint NOT NULL,
    claim_at bigint NOT NULL,
    created_at bigint NOT NULL,
    started_at bigint,
    finished_at bigint NOT NULL,
    attempt integer NOT NULL,
    max_attempts integer NOT NULL,
    released integer NOT NULL,
    interrupted integer NOT NULL,
    lost integer NOT NULL,
    worker text,
    claimed_at bigint,
    cancel_requested boolean NOT NULL,
    unique_key text,
    tags text NOT NULL CHECK (tags = '[]' OR json_typeof(tags::json -> 0) IS NOT DISTINCT FROM 'string'),
    policy text NOT NULL CHECK (policy = '{}' OR policy::json #>> '{retry,max_attempts}' IS DISTINCT FROM ''),
    attempts text NOT NULL CHECK (attempts = '[]' OR attempts::json #>> '{-1,6,type}' IS DISTINCT FROM ''),
    result text,
    discarded_at bigint,
    expires_on integer NOT NULL,
    CHECK (state = 'dead' OR (reason IS NULL AND discarded_at IS NULL)),
    CHECK (state = 'succeeded' OR result IS NULL)
) PARTITION BY RANGE (expires_on);

CREATE INDEX history_id ON puntual.run_history (id);
CREATE INDEX history_dead ON puntual.run_history (id) WHERE state = 'dead' AND discarded_at IS NULL;
CREATE INDEX history_dead_queue ON puntual.run_history (queue) WHERE state = 'dead' AND discarded_at IS NULL;
CREATE INDEX history_cancelled ON puntual.run_history (id) WHERE state = 'cancelled';
CREATE INDEX history_schedule ON puntual.run_history (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX history_ticks ON puntual.run_history (schedule, tick_at, tick_number) WHERE tick_number IS NOT NULL;
CREATE INDEX history_all_ticks ON puntual.run_history (tick_at, schedule, tick_number) WHERE tick_number IS NOT NULL;
-- What went wrong lately, counted without reading what went well.
CREATE INDEX history_died ON puntual.run_history (finished_at) WHERE state = 'dead' AND discarded_at IS NULL;
-- A minute is `requests.LATE_US`.
CREATE INDEX history_late ON puntual.run_history (tick_at)
WHERE tick_number IS NOT NULL AND started_at - due_at > 60000000;
-- What no day was made for: moved when it is.
CREATE TABLE puntual.run_history_other PARTITION OF puntual.run_history DEFAULT;
CREATE INDEX history_strays ON puntual.run_history_other (expires_on);

-- What came back from outside, kept as long as its run.
CREATE TABLE puntual.attempt_responses (
    run_id uuid NOT NULL,
    attempt integer NOT NULL,
    body bytea NOT NULL,
    content_type text,
    headers text NOT NULL,
    truncated integer NOT NULL,
    expires_on integer NOT NULL
) PARTITION BY RANGE (expires_on);

CREATE INDEX responses_run ON puntual.attempt_responses (run_id, attempt);
CREATE TABLE puntual.attempt_responses_other PARTITION OF puntual.attempt_responses DEFAULT;
CREATE INDEX responses_strays ON puntual.attempt_responses_other (expires_on);
