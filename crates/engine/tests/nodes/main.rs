//! Real agents on real nodes: what every driver must do, and what becomes of jobs.
#![cfg(unix)]
#![allow(missing_docs, reason = "tests")]

mod collection;
mod contract;
mod door;
mod gpus;
mod jobs;
mod site;
