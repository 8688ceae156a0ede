-- Who may name an uploaded file in a job or a script: whoever has sent it. Removed with the file.
create table uploads (
    hash          text   not null,                          -- SHA-256 of the content, in hexadecimal
    user_id       text   not null,
    since         bigint not null,
    primary key (hash, user_id)
);

-- Whether files of jobs that are older than this table are in it.
alter table installation add column uploads_known bigint not null default 0;

-- Computes whose tokens reach beyond what is their owner's own. A row counts only as long as who wrote it owns the compute.
create table wide_tokens (
    compute       text   not null primary key,              -- instance-3, cluster-2
    workspace_id  text   not null,
    user_id       text   not null,
    since         bigint not null
);

-- What tokens are signed with lies in the data directory, not in every copy of the database.
alter table installation drop column workload_key;

-- Whether an Owner has said that everybody here trusts everybody, where people cannot be kept apart; 0: not asked yet.
alter table installation add column trust_confirmed_at bigint not null default 0;

-- From where people have signed in: what strangers try elsewhere does not keep them out there.
create table sign_in_addresses (
    email         text   not null,
    address       text   not null,                          -- as failures count it: an address, or a /64
    since         bigint not null,                          -- of the last time
    primary key (email, address)
);
