-- Named environments of jobs and notebooks, their versions, and how their builds ended.
-- Portable on SQLite and PostgreSQL.

create table environments (
    workspace_id  text   not null,
    name          text   not null,
    owner_id      text   not null,
    owner_name    text   not null,                          -- as it was then
    created_at    bigint not null,
    primary key (workspace_id, name)
);

-- A version never changes.
create table environment_versions (
    workspace_id  text   not null,
    name          text   not null,
    version       bigint not null,                          -- from 1, without gaps
    recipe        text   not null,                          -- as it was written
    note          text   not null,
    author_id     text   not null,
    author_name   text   not null,                          -- as it was then
    created_at    bigint not null,
    used_at       bigint not null,                          -- the last job that was submitted with it; 0 if none was
    primary key (workspace_id, name, version)
);

-- One row for each thing that was built or is to be built, whichever versions mean it. What is complete is on the disk; this
-- is what the disk does not tell.
create table environment_builds (
    hash          text   not null primary key,
    state         text   not null,                          -- wanted, ready, failed, collected
    failure       text   not null,                          -- JSON; empty unless it failed
    packages      text   not null,                          -- JSON: what was in it, also after it was collected
    size          bigint not null,                          -- bytes on the disk
    used_at       bigint not null,                          -- when something last ran with it
    changed_at    bigint not null
);
