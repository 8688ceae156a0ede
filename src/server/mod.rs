//! The server: configuration, sessions, guards, headers, streams. It knows none of the nouns.
//!
//! The road of a request, from outside to inside (see [`router`]): request id and log line → security headers
//! → files of the site → size limits → origin check → session → guard (set-up, sign-in, temporary password,
//! workspace) → form posts → page, server function or stream.

pub mod actor;
pub mod agent_streams;
pub mod agents;
pub mod apps;
pub mod assets;
pub mod caller;
mod carried;
pub mod chart_keeper;
pub mod collector;
pub mod config;
pub mod connections;
pub mod downloads;
pub mod events;
pub mod first_owner;
pub mod flash;
pub mod form_posts;
pub mod guard;
pub mod headers;
pub mod health;
pub mod local_path;
pub mod log_mark;
pub mod log_stream;
pub mod origin;
pub mod page;
pub mod passwords;
pub mod plain_page;
pub mod read_limit;
pub mod request;
pub mod rest;
pub mod serve;
pub mod session_store;
pub mod ssh;
pub mod state;
pub mod telemetry;
#[cfg(debug_assertions)]
pub mod test_clock;
pub mod uploads;
pub mod user_agent;
