//! Instances: the list, one of them, the wizard, applications, sharing, transfer, and the same over REST.

#[cfg(feature = "ssr")]
pub mod http;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;

#[cfg(feature = "ssr")]
pub mod app_changes;
#[cfg(feature = "ssr")]
pub mod bulk;
#[cfg(feature = "ssr")]
pub mod changes;
pub mod functions;
#[cfg(feature = "ssr")]
pub mod sharing_changes;
pub mod sharing_functions;
#[cfg(feature = "ssr")]
pub mod transfer_changes;
pub mod transfer_functions;
pub mod typing;
#[cfg(feature = "ssr")]
pub mod wizard;
