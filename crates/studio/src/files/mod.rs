//! Files of the workspace, each change as who asks.

pub mod commands;
pub mod count;
pub mod desk;
pub mod keep;
pub mod list;
pub mod notebook;
pub mod preview;
pub mod run_as_job;
pub mod sweep;
