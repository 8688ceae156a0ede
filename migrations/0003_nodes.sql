-- What nodes, jobs and the API need beside the engine's own records.
-- Portable on SQLite and PostgreSQL.

-- Jobs of an array run the same thing, which is kept once, under the first of them.
alter table jobs add column payload_id bigint not null default 0;
create index jobs_by_payload on jobs (payload_id, id);
-- When a job was submitted orders lists; its id goes up with that.
create index jobs_by_state on jobs (workspace_id, state, id);
alter table job_payloads add column name text not null default '';
alter table job_payloads add column tags text not null default '{}';    -- JSON

-- How the agent of a node shows who it is. Only hashes are kept.
create table agents (
    node_id      bigint not null primary key,
    token_hash   text   not null,                           -- of the one-time join token; empty once it is worth nothing
    secret_hash  text   not null,                           -- of the agent's own secret; empty before it has joined
    made_at      bigint not null
);

-- As whom people run on the server's own machine, where they have users of their own.
create table local_users (
    user_id  text   not null primary key,
    uid      bigint not null unique,
    handle   text   not null unique                         -- a short name for paths and prompts
);

-- Personal tokens for the API. Only hashes are kept.
create table tokens (
    id            text   not null primary key,
    workspace_id  text   not null,
    user_id       text   not null,
    name          text   not null,
    hash          text   not null unique,
    created_at    bigint not null,
    expires_at    bigint not null,
    used_at       bigint not null                           -- 0 before the first use
);
create index tokens_by_user on tokens (user_id, created_at);

-- How many nodes of a cluster were in which state, kept when that has changed, for its chart. Dropped after a set time.
create table cluster_counts (
    cluster_id  bigint not null,
    at          bigint not null,
    preparing   bigint not null,
    idle        bigint not null,
    running     bigint not null,
    leaving     bigint not null,
    unusable    bigint not null,
    queued      bigint not null,                            -- jobs that wait
    primary key (cluster_id, at)
);
