//! The pure core of Atelier: its nouns, its rules, who may do what, and the reasons it gives.
//!
//! Ground rules: no clock, no randomness, no I/O and no async. Time, ids and dice come in as arguments, so
//! the same inputs give the same outcome on the server, in a test, in the command line and in the browser
//! (this crate compiles to wasm, and the portal checks a form with the very code that the server will use).
//!
//! Words used everywhere:
//! - a **person** is somebody with an account; the **actor** is who does something, a person or the system
//!   itself;
//! - an **action** is something one may have the right to do, with a **scope**: on one's own things or on
//!   any;
//! - a **reason** says what is so, with its numbers, and what would change it.

pub mod access;
pub mod account;
pub mod ansi;
pub mod app_sharing;
pub mod compute;
pub mod environment;
pub mod error;
pub mod fields;
pub mod files;
pub mod history;
pub mod id;
mod keyed;
pub mod marks;
pub mod money;
pub mod name;
pub mod network;
pub mod password;
pub mod paths;
pub mod portal;
pub mod reason;
#[cfg(feature = "zones")]
pub mod rules;
pub mod schedule;
pub mod secrets;
pub mod session;
pub mod ssh;
pub mod text;
pub mod throttle;
pub mod time;
pub mod token;
pub mod uids;
pub mod workload;
#[cfg(feature = "zones")]
pub mod world;
#[cfg(feature = "zones")]
pub mod zone;

pub use id::{SessionKey, SshKeyId, TokenId, UserId, WorkspaceId};
pub use money::Money;
pub use time::Timestamp;
