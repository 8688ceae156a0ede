//! The engine’s own page: drivers, agents, the loop, nodes nobody knows, the pause switch.

#[cfg(feature = "ssr")]
pub mod pages;

#[cfg(feature = "ssr")]
pub mod changes;
pub mod functions;
