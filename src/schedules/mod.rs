//! When instances start and stop by themselves: the week of all, the hours of one, idle shutdown.

#[cfg(feature = "ssr")]
pub mod pages;

pub mod functions;
#[cfg(feature = "ssr")]
pub mod rest;
pub mod typing;
