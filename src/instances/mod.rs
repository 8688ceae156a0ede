//! Instances: the list, one of them, the wizard, applications, sharing, transfer, and the same over REST.

pub mod functions;
#[cfg(feature = "ssr")]
pub mod http;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;
pub mod typing;
#[cfg(feature = "ssr")]
pub mod wizard;
