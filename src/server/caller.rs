//! Who asks through the portal: read from the request that Leptos or axum hands over.

use std::sync::Arc;

use atelier_domain::error::AppError;
use atelier_studio::caller::{Actor, Caller, RequestInfo};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use leptos::prelude::{use_context, with_context};
use tower_sessions::Session;

use crate::server::guard::NoSuchWorkspace;
use crate::server::passwords::{HashError, Turn};
use crate::server::state::AppState;

/// Whoever asks for a page or calls a server function. Taken before the first `await`, since contexts belong
/// to the owner.
pub fn here() -> Result<Caller, AppError> {
    let state = use_context::<AppState>().ok_or_else(outside)?;
    with_context(|parts: &Parts| of(&state, parts)).ok_or_else(outside)?
}

/// Whoever makes a request that passed the guard, for routes that are neither pages nor server functions. A
/// workspace that is not the caller's does not exist.
pub fn of(state: &AppState, parts: &Parts) -> Result<Caller, AppError> {
    if parts.extensions.get::<NoSuchWorkspace>().is_some() {
        return Err(AppError::not_found("workspace"));
    }
    let request = parts.extensions.get::<RequestInfo>().cloned().ok_or_else(outside)?;
    let actor = parts.extensions.get::<Arc<Actor>>().cloned();
    Ok(Caller::new(state.studio().clone(), request, actor))
}

fn outside() -> AppError {
    AppError::Transport { message: "called outside of a request".into() }
}

/// A caller with their browser, for what begins, changes and ends web sessions and for what needs passwords.
pub struct Browser {
    pub caller: Caller,
    pub state: AppState,
    pub headers: HeaderMap,
    session: Option<Session>,
}

impl Browser {
    /// Reads the context. Taken before the first `await`.
    pub fn here() -> Result<Self, AppError> {
        let state = use_context::<AppState>().ok_or_else(outside)?;
        let parts = use_context::<Parts>().ok_or_else(outside)?;
        let session = parts.extensions.get::<Session>().cloned();
        Ok(Self { caller: of(&state, &parts)?, state, headers: parts.headers, session })
    }

    pub fn session(&self) -> Result<&Session, AppError> {
        self.session.as_ref().ok_or(AppError::SignedOut)
    }

    /// A turn at the password hasher, or the request to come back.
    pub async fn turn(&self) -> Result<Turn, AppError> {
        match self.state.passwords().turn_of(self.caller.request.address).await {
            Err(HashError::Busy) => Err(AppError::TooMany {
                message: "The server is checking as many passwords as it can. Try again in a few seconds.".into(),
                retry_after_secs: 5,
            }),
            other => self.caller.checked(other),
        }
    }
}
