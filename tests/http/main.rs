//! The server as its clients see it: the whole router in process, a database of its own for each test.
#![cfg(feature = "ssr")]
#![allow(missing_docs, reason = "tests")]

mod access;
mod accounts;
mod client;
mod live;
mod machines;
mod people;
mod set_up;
mod walk;
