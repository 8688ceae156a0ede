//! Connections as they are, two of them joined, and one given away.
//!
//! Bytes to an application go through two processes: server and agent. Both do the same, and thousands of
//! such connections are open and idle most of the time, so one that has nothing to say must hold no buffer.

mod farewell;
mod handover;
pub mod http;
mod join;
mod wire;

pub use farewell::{close_frame, join_until};
pub use handover::{give, take};
pub use join::join;
pub use wire::Wire;
