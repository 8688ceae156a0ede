//! One's own account: set-up, sign-in, profile, password, sessions.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::account::sessions::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Makes the first workspace and its Owner, on a server without accounts, for who knows the code from the log.
#[server(prefix = "/fn", endpoint = "set_up")]
pub async fn set_up(
    code: String,
    workspace: String,
    name: String,
    email: String,
    password: String,
    #[server(default)] time_zone: String,
) -> Result<Done, FnError> {
    Ok(crate::account::entrance::set_up(&code, &workspace, &name, &email, password, &time_zone).await?)
}

/// Signs in.
#[server(prefix = "/fn", endpoint = "sign_in")]
pub async fn sign_in(
    email: String,
    password: String,
    #[server(default)] keep: String,
    #[server(default)] next: String,
) -> Result<Done, FnError> {
    Ok(crate::account::entrance::sign_in(&email, password, keep == "on", &next).await?)
}

/// Signs out of this session.
#[server(prefix = "/fn", endpoint = "sign_out")]
pub async fn sign_out() -> Result<Done, FnError> {
    Ok(crate::account::entrance::sign_out().await?)
}

/// Changes one's own name, time zone and theme.
#[server(prefix = "/fn", endpoint = "update_profile")]
pub async fn update_profile(
    name: String,
    time_zone: String,
    #[server(default)] theme: String,
) -> Result<Done, FnError> {
    Ok(crate::account::own::update_profile(&name, &time_zone, &theme).await?)
}

/// Changes one's own password; every other session ends. A first password comes with the browser's time zone.
#[server(prefix = "/fn", endpoint = "change_password")]
pub async fn change_password(
    current: String,
    password: String,
    #[server(default)] time_zone: String,
) -> Result<Done, FnError> {
    Ok(crate::account::own::change_password(current, password, &time_zone).await?)
}

/// Ends one of one's own sessions.
#[server(prefix = "/fn", endpoint = "end_session")]
pub async fn end_session(key: String) -> Result<Done, FnError> {
    Ok(crate::account::own::end_session(&key).await?)
}

/// Ends all of one's own sessions, this one included.
#[server(prefix = "/fn", endpoint = "sign_out_everywhere")]
pub async fn sign_out_everywhere() -> Result<Done, FnError> {
    Ok(crate::account::own::sign_out_everywhere().await?)
}

/// Sets the theme, from the menu.
#[server(prefix = "/fn", endpoint = "set_theme")]
pub async fn set_theme(theme: String) -> Result<Done, FnError> {
    Ok(crate::account::own::set_theme(&theme).await?)
}

/// Folds or unfolds the navigation, in this browser.
#[server(prefix = "/fn", endpoint = "set_nav")]
pub async fn set_nav(#[server(default)] collapsed: String) -> Result<Done, FnError> {
    Ok(crate::account::own::set_nav(collapsed == "on").await?)
}

/// Marks what the bell holds as read.
#[server(prefix = "/fn", endpoint = "read_notices")]
pub async fn read_notices() -> Result<Done, FnError> {
    Ok(crate::account::own::read_notices().await?)
}
