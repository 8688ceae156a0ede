//! Environments: the base that every instance comes with, named ones, VS Code, and the same over REST.

#[cfg(feature = "ssr")]
pub mod pages;

#[cfg(feature = "ssr")]
pub mod base_changes;
pub mod base_functions;
#[cfg(feature = "ssr")]
pub mod changes;
#[cfg(feature = "ssr")]
pub mod editor_changes;
pub mod editor_functions;
pub mod functions;
#[cfg(feature = "ssr")]
pub mod rest;
