-- What the engine keeps: the records of its World, the commands it answered, what it decided, what was used, and the
-- batches of inputs from which all of that can be worked out again.
-- Portable on SQLite and PostgreSQL. Written by the engine's loop alone, many rows in one statement and one transaction for
-- each batch; so there are no foreign keys here: the loop is the one writer, and checks would be paid for each row.

-- Who may write the tables below: the engine that took the last epoch. Every batch asks for its own.
alter table installation add column epoch bigint not null default 0;
-- Which engine took it: one whose answer got lost finds its own mark again.
alter table installation add column engine text not null default '';

-- Small records that pages never list by themselves: the engine's own counters, sites, sizes, limits, unknown things.
create table engine_records (
    kind  text not null,
    id    text not null,
    body  text not null,                                    -- JSON of the record
    primary key (kind, id)
);

-- Instances that exist.
create table instances (
    id            bigint not null primary key,
    workspace_id  text   not null,
    name          text   not null,
    owner_id      text   not null,
    size          text   not null,
    state         text   not null,                          -- without regard to jobs that run there
    node_id       bigint not null,                          -- 0 while it has none
    created_at    bigint not null,
    body          text   not null                           -- JSON of the record
);
create index instances_by_name on instances (workspace_id, name);
create index instances_by_owner on instances (workspace_id, owner_id, id);

-- Clusters that exist.
create table clusters (
    id            bigint not null primary key,
    workspace_id  text   not null,
    name          text   not null,
    owner_id      text   not null,
    size          text   not null,
    state         text   not null,
    created_at    bigint not null,
    body          text   not null                           -- JSON of the record
);
create index clusters_by_name on clusters (workspace_id, name);

-- Nodes that exist, or that nobody has confirmed to be gone.
create table nodes (
    id            bigint not null primary key,
    workspace_id  text   not null,
    holder_kind   text   not null,                          -- 'instance', 'cluster' or 'job'
    holder_id     bigint not null,
    size          text   not null,
    site          text   not null,
    state         text   not null,                          -- without regard to jobs that run there
    created_at    bigint not null,
    body          text   not null                           -- JSON of the record
);
create index nodes_by_holder on nodes (holder_kind, holder_id, id);

-- All jobs. What is over stays here and is not loaded.
create table jobs (
    id            bigint not null primary key,
    workspace_id  text   not null,
    owner_id      text   not null,
    target_kind   text   not null,                          -- 'cluster', 'instance' or 'serverless'
    target_id     text   not null,                          -- the number, or the size
    state         text   not null,
    priority      text   not null,
    nodes         bigint not null,
    submitted_at  bigint not null,
    ended_at      bigint not null,                          -- 0 while it is not over
    verdict       text   not null,                          -- JSON; empty while it is not over
    body          text   not null                           -- JSON of the record
);
create index jobs_alive on jobs (id) where ended_at = 0;
create index jobs_by_owner on jobs (workspace_id, owner_id, id);
create index jobs_by_target on jobs (target_kind, target_id, id);

-- What a job runs, given with it: command, environment, files. The engine never looks into it.
create table job_payloads (
    job_id  bigint not null primary key,
    body    text   not null                                 -- JSON
);

-- Schedules.
create table schedules (
    id            bigint not null primary key,
    workspace_id  text   not null,
    target_kind   text   not null,                          -- 'instance' or 'cluster'
    target_id     bigint not null,
    is_enabled    bigint not null,
    body          text   not null                           -- JSON of the record
);
create index schedules_by_target on schedules (target_kind, target_id, id);

-- Commands that were answered: the same id again gets the same answer. Dropped after a set time.
create table commands (
    id            text   not null,                          -- made by whoever gave the command
    workspace_id  text   not null,
    mono          bigint not null,                          -- when, on the clock that only goes forward
    revision      bigint not null,
    digest        text   not null,                          -- of the order: an id belongs to one order alone
    answer        text   not null,                          -- JSON
    primary key (id, workspace_id)                          -- looked up by id, many at once
);
create index commands_by_time on commands (mono);

-- What was decided and why.
create table decisions (
    revision      bigint not null,
    ordinal       bigint not null,
    workspace_id  text   not null,                          -- empty if it is about the engine as a whole
    at            bigint not null,
    mono          bigint not null,                          -- the same on the clock that only goes forward
    about_kind    text   not null,
    about_id      bigint not null,
    code          text   not null,
    reason        text   not null,                          -- JSON
    sentence      text   not null,
    primary key (revision, ordinal)
);
create index decisions_by_subject on decisions (about_kind, about_id, revision, ordinal);

-- Node time and its cost, added up for each hour.
create table ledger (
    workspace_id  text   not null,
    hour          bigint not null,                          -- hours since 1970
    holder        text   not null,                          -- 'cluster-3'
    job_id        bigint not null,                          -- 0 for time without a job
    user_id       text   not null,
    size          text   not null,
    millis        bigint not null,
    cost          bigint not null,                          -- billionths of the currency
    primary key (workspace_id, hour, holder, job_id, user_id, size)
);

-- Every step of the engine with all that went into it, so that it can be worked out again. Dropped after a set time.
create table batches (
    revision  bigint not null primary key,
    epoch     bigint not null,
    wall      bigint not null,
    mono      bigint not null,
    boot      text   not null,                              -- which run of the machine, and how long it had run
    uptime    bigint not null,
    is_load   bigint not null,                              -- 1 if the World was loaded just before
    inputs    text   not null,                              -- JSON
    outcome   text   not null                               -- a hash of all that followed
);

-- All records as they were just before the batch of that revision.
create table snapshots (
    revision  bigint not null primary key,
    wall      bigint not null,
    mono      bigint not null,
    records   text   not null                               -- JSON
);
