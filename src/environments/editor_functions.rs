//! VS Code for instances: installed on the server when an operator wants it.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Begins to install VS Code on this server. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "install_editor")]
pub async fn install_editor(#[server(default)] why: String) -> Result<Done, FnError> {
    Ok(crate::environments::editor_changes::install(&why).await?)
}
