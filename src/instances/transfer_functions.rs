//! Giving an instance to somebody else.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::instances::given::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Gives a stopped instance to somebody else, without what opens doors in its home. Needs `instance.transfer`.
#[server(prefix = "/fn", endpoint = "transfer_instance")]
pub async fn transfer_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] to: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::transfer_changes::transfer(&command_id, &instance, &to, &why).await?)
}
