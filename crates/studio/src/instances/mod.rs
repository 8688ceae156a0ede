//! Instances: made, started, stopped, shared, given away; their applications, scripts and logs.

pub mod apps;
pub mod awake;
pub mod bulk;
pub mod commands;
pub mod create;
pub mod custom_apps;
pub mod detail;
pub mod list;
pub mod logs;
pub mod plan;
pub mod scripts;
pub mod share_uses;
pub mod sharing;
pub mod ssh;
pub mod transfer;
pub mod usage;
pub mod view;
