//! One's own personal tokens for the API.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::account::tokens::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Makes a token; its secret is shown once.
#[server(prefix = "/fn", endpoint = "create_token")]
pub async fn create_token(name: String, #[server(default)] days: String) -> Result<Done, FnError> {
    Ok(crate::account::tokens::create_token(&name, &days).await?)
}

/// Takes one of one's own tokens away.
#[server(prefix = "/fn", endpoint = "revoke_token")]
pub async fn revoke_token(token: String) -> Result<Done, FnError> {
    Ok(crate::account::tokens::revoke_token(&token).await?)
}
