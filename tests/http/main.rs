//! The server as its clients see it: the whole router in process, a database of its own for each test.
#![cfg(feature = "ssr")]
#![allow(missing_docs, reason = "tests")]

mod access;
mod accounts;
mod agreement_jobs;
mod budgets;
mod client;
mod clusters;
mod cost;
mod environment;
mod files;
mod forecast;
mod instances;
mod jobs;
mod kept;
mod library;
mod live;
mod machines;
mod new_instance;
mod people;
mod quota;
mod quotes;
mod rest;
mod schedules;
mod scheduling;
mod set_up;
mod walk;
