-- Jobs of large arrays that have no rows of their own, one after another in one row: those that nothing has happened to yet,
-- and those that were over before anything did.
-- Portable on SQLite and PostgreSQL. Written by the engine's loop alone.
create table job_ranges (
    first_id      bigint not null primary key,
    last_id       bigint not null,
    payload_id    bigint not null,                          -- the first job of the array
    workspace_id  text   not null,
    owner_id      text   not null,
    target_kind   text   not null,
    target_id     text   not null,
    state         text   not null,
    ended_at      bigint not null,                          -- 0 while they are not over
    verdict       text   not null,                          -- JSON; empty while they are not over
    body          text   not null                           -- JSON of the first; the others differ in their numbers
);
create index job_ranges_by_payload on job_ranges (payload_id);
