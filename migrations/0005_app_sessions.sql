-- Who may reach which application at its own address. Each belongs to a session of the portal and ends with it.
-- The id is a hash of the secret in the application's cookie, so that a copy of this table opens nothing.
create table app_sessions (
    id              text   not null primary key,
    web_session_id  text   not null,                        -- the session of the portal that it belongs to
    user_id         text   not null,
    instance_id     bigint not null,
    app             text   not null,
    created_at      bigint not null
);
create index app_sessions_by_session on app_sessions (web_session_id);
