//! Sharing applications of instances with colleagues.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::instances::shared::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Shares an application of one's own instance, or changes how it is shared. Needs `instance.share`.
#[server(prefix = "/fn", endpoint = "share_app")]
pub async fn share_app(
    instance: String,
    #[server(default)] person: String,
    #[server(default)] app: String,
    #[server(default)] level: String,
    #[server(default)] until: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::sharing_changes::share(&instance, person, app, level, &until).await?)
}

/// Takes a share back. Needs `instance.share`.
#[server(prefix = "/fn", endpoint = "revoke_share")]
pub async fn revoke_share(instance: String, app: String, person: String) -> Result<Done, FnError> {
    Ok(crate::instances::sharing_changes::revoke(&instance, &app, &person).await?)
}
