//! People: the list, one person, and everything an administrator does to accounts.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::people::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Adds a person with a temporary password, which is shown once. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "create_person")]
pub async fn create_person(
    name: String,
    email: String,
    #[server(default)] roles: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::people::changes::create_person(&name, &email, &roles, &why).await?)
}

/// Replaces somebody's roles. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "set_roles")]
pub async fn set_roles(
    user: String,
    #[server(default)] roles: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::people::changes::set_roles(&user, &roles, &why).await?)
}

/// Disables or enables accounts or resets a password: `verb` as in [`atelier_domain::account::AccountVerb`]. Each account is
/// judged by itself; those that the rules protect stay as they are. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "change_accounts")]
pub async fn change_accounts(
    verb: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::people::changes::change_accounts(&verb, &ids, &why).await?)
}
