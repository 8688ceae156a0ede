//! When instances start and stop by themselves.

pub mod awake;
pub mod commands;
pub mod idle;
pub mod next;
pub mod page;
pub mod request;
pub mod typed;
pub mod warnings;
pub mod week;
pub mod weeks;
