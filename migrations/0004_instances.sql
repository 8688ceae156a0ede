-- What instances need beside the engine's own records.
-- Portable on SQLite and PostgreSQL.

-- The base environment of instances: which packages it has. One row, made with the first change; before that the list that
-- comes with Atelier counts. It belongs to the installation, not to a workspace.
create table base_environment (
    one           bigint not null primary key,              -- always 1
    requirements  text   not null,                          -- one package a line; empty for the list that comes with Atelier
    edition       bigint not null,                          -- counts up when the same list is wanted anew
    in_use        text   not null,                          -- the name of the one that instances get; empty before the first
    changed_at    bigint not null
);
