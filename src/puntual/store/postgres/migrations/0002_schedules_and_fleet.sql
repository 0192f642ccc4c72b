-- As in runs, what statements about many rows read as JSON is read here as they do it.
CREATE TABLE puntual.schedules (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL UNIQUE,
    owner text,
    revision bigint NOT NULL,
    spec text NOT NULL
    CHECK (json_typeof(spec::json) = 'object' AND coalesce(json_typeof(spec::json -> 'tags'), 'array') = 'array'),
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    pause text CHECK (pause IS NULL OR pause::json IS NOT NULL),
    look_at bigint,
    next_tick_at bigint,
    next_due_at bigint,
    last_tick_at bigint NOT NULL,
    last_number bigint NOT NULL,
    seen_at bigint,
    caught_up bigint NOT NULL,
    stretch text CHECK (stretch IS NULL OR num_nulls(
        (stretch::json ->> 0)::bigint, (stretch::json ->> 1)::bigint, (stretch::json ->> 2)::bigint,
        (stretch::json ->> 3)::bigint, (stretch::json ->> 4)::boolean, stretch::json ->> 5
    ) = 0),
    -- Why it cannot be planned, if it cannot.
    trouble text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX schedules_look ON puntual.schedules (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX schedules_open ON puntual.schedules (name) WHERE stretch IS NOT NULL;
CREATE INDEX schedules_trouble ON puntual.schedules (name) WHERE trouble IS NOT NULL;
CREATE INDEX schedules_owner ON puntual.schedules (owner, name) WHERE owner IS NOT NULL;

-- Ticks that made no run, and those whose run has expired: consecutive numbers with one fate are one row.
CREATE TABLE puntual.tick_stretches (
    schedule_id text NOT NULL,
    number bigint NOT NULL,
    schedule text NOT NULL,
    tick_at bigint NOT NULL,
    last_tick_at bigint NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    at_least boolean NOT NULL,
    fate text NOT NULL CHECK (fate IN ('ran', 'skipped', 'missed', 'coalesced')),
    reason text,
    PRIMARY KEY (schedule_id, number),
    CHECK (tick_at <= last_tick_at)
);

CREATE INDEX stretches_ticks ON puntual.tick_stretches (schedule, tick_at);
CREATE INDEX stretches_all_ticks ON puntual.tick_stretches (tick_at, schedule);
-- Those that are over for so long that they go: a stretch may have begun years before it ends.
CREATE INDEX stretches_last ON puntual.tick_stretches (last_tick_at);
CREATE INDEX stretches_missed ON puntual.tick_stretches (last_tick_at) WHERE fate = 'missed';

CREATE TABLE puntual.workers (
    id text NOT NULL PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    roles text NOT NULL CHECK (roles::json IS NOT NULL),
    queues text CHECK (queues IS NULL OR queues::json IS NOT NULL),
    tasks text NOT NULL CHECK (tasks::json IS NOT NULL),
    concurrency integer NOT NULL,
    version text NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    lease_us bigint NOT NULL,
    lease_until bigint NOT NULL,
    ended_at bigint,
    draining boolean NOT NULL DEFAULT false,
    held integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE puntual.leases (
    name text NOT NULL PRIMARY KEY,
    holder text NOT NULL,
    lease_us bigint NOT NULL,
    lease_until bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE puntual.queues (
    name text NOT NULL PRIMARY KEY,
    paused boolean NOT NULL DEFAULT false,
    pause_reason text,
    concurrency integer CHECK (concurrency >= 0)
);

-- The names of all queues that ever had a run: which lanes a claimer looks at. Written once for each, by whoever meets
-- a new one.
CREATE TABLE puntual.lanes (queue text NOT NULL PRIMARY KEY);

-- The last pause of everything, active or over: plans tell by it the ticks that were paused from those that were missed.
CREATE TABLE puntual.pause_of_all (
    one integer NOT NULL PRIMARY KEY CHECK (one = 1),
    pause text NOT NULL
    CHECK ((pause::json ->> 'since')::bigint IS NOT NULL AND (pause::json ->> 'until')::bigint IS DISTINCT FROM -1)
);

CREATE TABLE puntual.tokens (
    id text NOT NULL PRIMARY KEY,
    name text NOT NULL,
    prefix text NOT NULL,
    digest text NOT NULL UNIQUE,
    scope text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint
);
