//! People and roles: the list, one person, the form that adds one, and the question before accounts are
//! changed.

#[cfg(feature = "ssr")]
pub mod pages;

pub mod functions;
