//! The Python environment that instances start with: how it does, what is in it, and the list that operators change.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::environments::base::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Changes the list of packages; the new environment is built beside the old one. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "set_environment")]
pub async fn set_environment(requirements: String, #[server(default)] why: String) -> Result<Done, FnError> {
    Ok(crate::environments::base_changes::set(&requirements, &why).await?)
}

/// Builds the environment anew, or tries at once what failed. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "rebuild_environment")]
pub async fn rebuild_environment(#[server(default)] why: String) -> Result<Done, FnError> {
    Ok(crate::environments::base_changes::rebuild(&why).await?)
}
