//! Jobs: the list, one job with its log and outputs, the form that submits one, what people do to them, and
//! the same over REST.

#[cfg(feature = "ssr")]
pub mod http;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;

pub mod functions;
pub mod typing;
