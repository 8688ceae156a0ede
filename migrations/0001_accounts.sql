-- Accounts, workspaces, roles, web sessions, sign-in throttling and the history.
-- Portable on SQLite and PostgreSQL: text ids, bigint milliseconds, 0/1 for booleans, JSON as text.

-- One row: what this installation is and how far its data has moved. Written by every change that people can see.
create table installation (
    one         bigint not null primary key check (one = 1),
    id          text   not null,
    revision    bigint not null,
    created_at  bigint not null
);

-- Workspaces. Written at set-up.
create table workspaces (
    id          text   not null primary key,
    slug        text   not null unique,
    name        text   not null,
    created_at  bigint not null
);

-- People who can sign in. workspace_id is the workspace whose Owners look after the account.
create table users (
    id                    text   not null primary key,
    workspace_id          text   not null references workspaces (id),
    email                 text   not null unique,           -- lower case
    name                  text   not null,
    name_key              text   not null,                  -- the name in lower case, to sort and to search by
    password_hash         text   not null,                  -- argon2id, PHC string
    must_change_password  bigint not null,                  -- 1 while the password is a temporary one
    disabled              bigint not null,                  -- 1 while nobody may sign in with it
    time_zone             text   not null,                  -- IANA name
    theme                 text   not null,
    created_at            bigint not null,
    session_epoch         bigint not null,                  -- a session that was begun under an older one is not let in
    seen_at               bigint not null,                  -- last request, flushed once a minute; 0 if never
    notices_read_at       bigint not null
);
create index users_by_name on users (workspace_id, name_key, id);
create index users_by_seen on users (workspace_id, seen_at, id);
create index users_by_created on users (workspace_id, created_at, id);

-- Which roles people hold where. principal_kind leaves room for groups, role for roles of one's own.
create table role_assignments (
    workspace_id    text   not null references workspaces (id),
    principal_kind  text   not null,                        -- 'user'
    principal_id    text   not null,
    role            text   not null,
    granted_at      bigint not null,
    primary key (workspace_id, principal_kind, principal_id, role)
);
create index role_assignments_by_role on role_assignments (workspace_id, role);

-- Web sessions. The id is a hash of the secret in the cookie, so that a copy of this table opens nothing.
create table web_sessions (
    id            text   not null primary key,
    workspace_id  text   not null references workspaces (id),
    user_id       text   not null references users (id),
    data          text   not null,
    device        text   not null,
    address       text   not null,
    created_at    bigint not null,
    seen_at       bigint not null,                          -- last request, flushed once a minute
    ends_at       bigint not null                           -- the absolute end
);
create index web_sessions_by_user on web_sessions (user_id);
create index web_sessions_by_end on web_sessions (ends_at);

-- Failed sign-ins by account and by address, for throttling. Rows are dropped when their window is over.
create table sign_in_failures (
    subject   text   not null primary key,                  -- 'account:…', 'account:…|address:…' or 'address:…'
    failures  bigint not null,
    since     bigint not null
);

-- What happened, append-only. revision and ordinal order it; the text is what the search looks into.
create table history (
    revision      bigint not null,
    ordinal       bigint not null,
    workspace_id  text   not null references workspaces (id),
    at            bigint not null,
    actor_id      text   not null,                          -- empty for the system and the server's console
    actor_name    text   not null,
    subject_id    text   not null,                          -- the person concerned, or empty
    kind          text   not null,
    event         text   not null,                          -- JSON
    sentence      text   not null,
    search_key    text   not null,                          -- actor, sentence and reason in lower case
    why           text   not null,
    request       text   not null,
    primary key (revision, ordinal)
);
create index history_by_workspace on history (workspace_id, revision, ordinal);
create index history_by_actor on history (actor_id, revision, ordinal);
create index history_by_subject on history (subject_id, revision, ordinal);
