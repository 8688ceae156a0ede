//! Limits as they are set by forms.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Sets a limit. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "set_limit")]
pub async fn set_limit(
    #[server(default)] command_id: String,
    #[server(default)] whose: String,
    #[server(default)] person: String,
    #[server(default)] what: String,
    #[server(default)] limit: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::quota::changes::set_limit(
        &command_id,
        &crate::quota::changes::TypedLimit { whose, person, what, limit, why },
    )
    .await?)
}

/// Takes a limit away. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "lift_limit")]
pub async fn lift_limit(
    #[server(default)] command_id: String,
    #[server(default)] whose: String,
    #[server(default)] person: String,
    #[server(default)] what: String,
) -> Result<Done, FnError> {
    let typed = crate::quota::changes::TypedLimit { whose, person, what, limit: String::new(), why: String::new() };
    Ok(crate::quota::changes::lift_limit(&command_id, &typed).await?)
}
