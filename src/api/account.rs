//! One's own account: set-up, sign-in, profile, password, sessions.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Makes the first workspace and its Owner, on a server without accounts, for who knows the code from the log.
#[server(prefix = "/fn", endpoint = "set_up")]
pub async fn set_up(
    code: String,
    workspace: String,
    name: String,
    email: String,
    password: String,
    #[server(default)] time_zone: String,
) -> Result<Done, AppError> {
    entrance::set_up(&code, &workspace, &name, &email, password, &time_zone).await
}

/// Signs in.
#[server(prefix = "/fn", endpoint = "sign_in")]
pub async fn sign_in(
    email: String,
    password: String,
    #[server(default)] keep: String,
    #[server(default)] next: String,
) -> Result<Done, AppError> {
    entrance::sign_in(&email, password, keep == "on", &next).await
}

/// Signs out of this session.
#[server(prefix = "/fn", endpoint = "sign_out")]
pub async fn sign_out() -> Result<Done, AppError> {
    entrance::sign_out().await
}

/// Changes one's own name, time zone and theme.
#[server(prefix = "/fn", endpoint = "update_profile")]
pub async fn update_profile(
    name: String,
    time_zone: String,
    #[server(default)] theme: String,
) -> Result<Done, AppError> {
    own::update_profile(&name, &time_zone, &theme).await
}

/// Changes one's own password; every other session ends. A first password comes with the browser's time zone.
#[server(prefix = "/fn", endpoint = "change_password")]
pub async fn change_password(
    current: String,
    password: String,
    #[server(default)] time_zone: String,
) -> Result<Done, AppError> {
    own::change_password(current, password, &time_zone).await
}

/// Ends one of one's own sessions.
#[server(prefix = "/fn", endpoint = "end_session")]
pub async fn end_session(key: String) -> Result<Done, AppError> {
    own::end_session(&key).await
}

/// Ends all of one's own sessions, this one included.
#[server(prefix = "/fn", endpoint = "sign_out_everywhere")]
pub async fn sign_out_everywhere() -> Result<Done, AppError> {
    own::sign_out_everywhere().await
}

/// Sets the theme, from the menu.
#[server(prefix = "/fn", endpoint = "set_theme")]
pub async fn set_theme(theme: String) -> Result<Done, AppError> {
    own::set_theme(&theme).await
}

/// Folds or unfolds the navigation, in this browser.
#[server(prefix = "/fn", endpoint = "set_nav")]
pub async fn set_nav(#[server(default)] collapsed: String) -> Result<Done, AppError> {
    own::set_nav(collapsed == "on").await
}

/// Marks what the bell holds as read.
#[server(prefix = "/fn", endpoint = "read_notices")]
pub async fn read_notices() -> Result<Done, AppError> {
    own::read_notices().await
}

#[cfg(feature = "ssr")]
mod entrance;
#[cfg(feature = "ssr")]
mod own;

#[cfg(feature = "ssr")]
mod reads {
    use atelier_domain::{SessionKey, Timestamp};
    use atelier_engine::clock;

    use crate::api::caller::Caller;
    use crate::error::AppError;

    /// One of the viewer's own sessions.
    #[derive(Clone, Debug)]
    pub struct SessionRow {
        /// The name under which it is stored.
        pub key: SessionKey,
        /// "Chromium on Linux", as the browser said at sign-in.
        pub device: String,
        /// The network address at sign-in.
        pub address: String,
        /// The sign-in.
        pub created_at: Timestamp,
        /// The last request.
        pub seen_at: Timestamp,
        /// When it ends if nothing more happens.
        pub ends_at: Timestamp,
        /// Whether it is the one that asks.
        pub is_current: bool,
    }

    /// The viewer's own sessions, the current one first.
    pub async fn own_sessions() -> Result<Vec<SessionRow>, AppError> {
        let caller = Caller::here()?;
        let actor = caller.actor()?;
        let limits = caller.state.config().sessions;
        let sessions = caller.checked(caller.store().web_sessions_of(&actor.person.id).await)?;
        let mut rows: Vec<SessionRow> = sessions
            .into_iter()
            .map(|session| {
                let seen_at = caller.state.presence().last_request(&session);
                SessionRow {
                    is_current: session.key == actor.session,
                    ends_at: limits.ends_at(session.created_at, seen_at),
                    key: session.key,
                    device: session.device,
                    address: session.address,
                    created_at: session.created_at,
                    seen_at,
                }
            })
            .filter(|row| row.ends_at > clock::now())
            .collect();
        rows.sort_by_key(|row| (!row.is_current, std::cmp::Reverse(row.seen_at)));
        Ok(rows)
    }
}
