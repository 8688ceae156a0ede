//! Limits and fair shares: what people and workspaces may hold, and whose turn it is.

#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;

pub mod functions;
