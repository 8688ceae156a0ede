//! Clusters and their nodes: the list, one of them, the forms, previews of settings, and the same over REST.

#[cfg(feature = "ssr")]
pub mod http;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;

#[cfg(feature = "ssr")]
pub mod changes;
pub mod functions;
#[cfg(feature = "ssr")]
pub mod minimum_changes;
pub mod typing;
