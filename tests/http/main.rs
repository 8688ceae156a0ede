//! The server as its clients see it: the whole router in process, a database of its own for each test. Beside
//! that the program itself, as operators start it (`cli`), with real nodes (`nodes`) and by SSH (`ssh`). One
//! program of tests, since linking each takes its time.
#![cfg(feature = "ssr")]
#![allow(missing_docs, reason = "tests")]

mod access;
mod accounts;
mod agreement_jobs;
#[cfg(unix)]
mod attacks;
mod budgets;
#[cfg(unix)]
mod cli;
mod client;
mod clusters;
mod corpus;
mod cost;
#[cfg(unix)]
mod database_away;
mod environment;
mod files;
mod forecast;
#[cfg(unix)]
mod frozen;
#[cfg(unix)]
mod full_disk;
mod instances;
mod jobs;
mod kept;
mod library;
mod live;
mod machines;
mod new_instance;
#[cfg(unix)]
mod nodes;
mod people;
mod quota;
mod quotes;
mod rest;
mod schedules;
mod scheduling;
mod set_up;
#[cfg(unix)]
mod ssh;
#[cfg(unix)]
mod strangers;
mod walk;
