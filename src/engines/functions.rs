//! The engine behind computes: where nodes are made, which agents there are, how the loop does, what nobody knows.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::engines::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Pauses all acting; planning goes on. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "pause_engine")]
pub async fn pause_engine(
    #[server(default)] command_id: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::engines::changes::pause(&command_id, &why).await?)
}

/// Lets the engine act again. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "resume_engine")]
pub async fn resume_engine(#[server(default)] command_id: String) -> Result<Done, FnError> {
    Ok(crate::engines::changes::resume(&command_id).await?)
}

/// Has something removed that a driver found and nobody knows. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "remove_unknown")]
pub async fn remove_unknown(
    #[server(default)] command_id: String,
    site: String,
    name: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::engines::changes::remove_unknown(&command_id, &site, &name, &why).await?)
}
