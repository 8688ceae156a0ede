//! Named environments of jobs and notebooks: what pages show of them, and what their forms do.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::environments::list::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Makes an environment, or the next version of the one that `existing` names. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "save_environment")]
pub async fn save_environment(
    #[server(default)] name: String,
    #[server(default)] existing: String,
    #[server(default)] recipe: String,
    #[server(default)] note: String,
    #[server(default)] build: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::environments::changes::save(name, &existing, recipe, note, !build.is_empty(), why).await?)
}

/// Has a version built, also one whose last build failed. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "build_environment")]
pub async fn build_environment(
    environment: String,
    #[server(default)] version: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::environments::changes::build(&environment, &version, &why).await?)
}

/// Deletes an environment with all its versions. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "delete_environment")]
pub async fn delete_environment(environment: String, #[server(default)] why: String) -> Result<Done, FnError> {
    Ok(crate::environments::changes::delete(&environment, &why).await?)
}
