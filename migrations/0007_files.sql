-- What Files needs beside the disk: how much people may keep there, and which outputs of jobs go there.
-- Portable on SQLite and PostgreSQL.

-- How many bytes each person may have in Files; no row: as many as the disk has.
create table file_limits (
    workspace_id  text   not null primary key,
    person_bytes  bigint not null
);

-- The folder of Files in which the outputs of a job are wanted; empty for most.
alter table job_payloads add column keep_in text not null default '';
create index job_payloads_kept on job_payloads (job_id) where keep_in <> '';

-- Jobs whose outputs were copied, or could not be: what is here is not tried again.
create table kept_outputs (
    job_id   bigint not null primary key,
    path     text   not null,                               -- the folder that holds them; empty if there are none
    problem  text   not null,                               -- why not, for people; empty if all is well
    at       bigint not null
);
