//! The engine’s own page: drivers, agents, the loop, unknown nodes, the pause switch.

#[cfg(feature = "ssr")]
pub mod pages;

pub mod functions;
