-- Public keys with which people come in by SSH. One that was removed stays, so that whoever shows it can be told so.
create table ssh_keys (
    id            text   not null primary key,
    workspace_id  text   not null,
    user_id       text   not null,
    name          text   not null,
    kind          text   not null,                           -- for people: ed25519, rsa 3072
    line          text   not null,                           -- as OpenSSH writes it
    fingerprint   text   not null,                           -- SHA256:… of its body
    created_at    bigint not null,
    used_at       bigint not null,                           -- 0 if never
    removed_at    bigint not null                            -- 0 while it counts
);
create unique index ssh_keys_in_use on ssh_keys (fingerprint) where removed_at = 0;
create index ssh_keys_by_user on ssh_keys (user_id);
create index ssh_keys_by_fingerprint on ssh_keys (fingerprint, created_at);

-- The instances that can be entered by SSH. It was switched on by an owner, and counts only while that one owns it.
create table ssh_instances (
    instance_id   bigint not null primary key,
    workspace_id  text   not null,
    user_id       text   not null,
    since         bigint not null
);

-- The instance that an entry tells of, where the decisions about it do not; empty for all others. By its name, since entries stay
-- when it goes.
alter table history add column instance text not null default '';
create index history_by_instance on history (workspace_id, instance, revision, ordinal) where instance <> '';
