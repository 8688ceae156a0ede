//! One's own keys for SSH, and the switch of one's own instances.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::account::ssh_keys::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Adds a key to the own profile.
#[server(prefix = "/fn", endpoint = "add_ssh_key")]
pub async fn add_ssh_key(key: String, #[server(default)] name: String) -> Result<Done, FnError> {
    Ok(crate::account::ssh_keys::add(&name, &key).await?)
}

/// Removes one of one's own keys.
#[server(prefix = "/fn", endpoint = "remove_ssh_key")]
pub async fn remove_ssh_key(key_id: String) -> Result<Done, FnError> {
    Ok(crate::account::ssh_keys::remove(&key_id).await?)
}

/// Lets an instance be entered by SSH, or not any more.
#[server(prefix = "/fn", endpoint = "switch_ssh")]
pub async fn switch_ssh(instance: String, is_on: String) -> Result<Done, FnError> {
    Ok(crate::account::ssh_keys::switch(&instance, &is_on).await?)
}
