-- Applications that people added to their instances. Portable on SQLite and PostgreSQL.
create table instance_apps (
    workspace_id  text   not null,
    instance_id   bigint not null,
    name          text   not null,                          -- in addresses
    record        text   not null,                          -- all of it, as JSON
    changed_at    bigint not null,
    primary key (instance_id, name)
);
