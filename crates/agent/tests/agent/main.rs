//! A real agent and a server of the test's own. One program: each test has an agent in a process, folders and
//! a control group of its own, so that nothing is shared but the machine.
#![allow(clippy::unwrap_used, reason = "tests")]

mod ahead;
mod common;
mod custom_apps;
mod ends;
mod evict;
mod instance;
mod isolation;
mod jobs;
mod link;
mod network;
mod output;
mod scripts;
mod streams;
mod stuck;
mod terminal;
mod users;
