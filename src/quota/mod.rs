//! Limits and fair shares: what people and workspaces may hold, and whose turn it is.

#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;

#[cfg(feature = "ssr")]
pub mod changes;
#[cfg(feature = "ssr")]
pub mod fair_share_changes;
pub mod fair_share_functions;
pub mod functions;
