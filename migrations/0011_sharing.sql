-- Which applications of an instance are shared with whom. A share counts only as long as its owner owns the instance, which
-- the engine knows; nothing here has to be removed for it to be worth nothing.
create table instance_shares (
    instance_id     bigint not null,
    app             text   not null,
    user_id         text   not null,                        -- with whom
    workspace_id    text   not null,
    owner_id        text   not null,                        -- who shared it: the owner at that time
    instance_name   text   not null,                        -- for the history
    app_label       text   not null,                        -- for the history
    level           text   not null,                        -- read or use
    until           bigint not null,                        -- 0: no end
    since           bigint not null,
    used_at         bigint not null,                        -- 0: never
    is_over         bigint not null,                        -- 1 once the history says that its time was over
    primary key (instance_id, app, user_id)
);
create index instance_shares_by_user on instance_shares (user_id);
create index instance_shares_by_end on instance_shares (until);

-- What tokens of instances and jobs are signed with; made by the first server that needs it.
alter table installation add column workload_key text not null default '';
