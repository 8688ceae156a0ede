-- What an older database that was taken back must not repeat.
-- Portable on SQLite and PostgreSQL.

-- Users that people run as are numbered above this.
alter table installation add column last_uid bigint not null default 0;
-- How often an older database was taken back. A secret made before the last time isn't used any more.
alter table installation add column restores bigint not null default 0;
