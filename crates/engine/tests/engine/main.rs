//! The engine's claims. One program: each test has a database and folders of its own. Two tests start this
//! program again and kill it (`base_environment`, `crash`).
#![allow(missing_docs, reason = "tests")]

mod base_environment;
mod common;
mod crash;
mod named_environments;
mod nodes;
mod over;
mod restore;
mod run;
mod sharing;
mod spending;
mod ssh;
mod store;
mod store_apps;
mod store_budgets;
mod store_clusters;
mod store_jobs;
mod tokens;
mod uids;
