//! Clusters and their nodes: the list, one of them, the forms, previews of settings, and the same over REST.

#[cfg(feature = "ssr")]
pub mod http;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;

pub mod functions;
pub mod typing;
