//! The engine’s own page: drivers, agents, the loop, nodes nobody knows, the pause switch.

#[cfg(feature = "ssr")]
pub mod pages;

pub mod functions;
