//! One instance: a file for each tab or card of its page.

pub mod apps;
pub mod awake;
pub mod charts;
pub mod confirm;
pub mod history;
pub mod logs;
pub mod monitoring;
pub mod overview;
pub mod own_apps;
pub mod page;
pub mod parts;
pub mod run_as_job;
pub mod scripts;
pub mod settings;
pub mod sharing;
pub mod ssh;
pub mod stops;
pub mod transfer;
pub mod waterfall;
