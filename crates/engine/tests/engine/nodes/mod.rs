//! Real agents on real nodes: what every driver must do, and what becomes of jobs.

mod collection;
mod contract;
mod door;
mod gpus;
mod jobs;
mod site;
