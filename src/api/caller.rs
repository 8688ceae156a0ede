//! Who calls a server function or a read, and with which rights.

use std::sync::Arc;

use atelier_domain::access::{Action, Whose};
use atelier_domain::account::AccountState;
use atelier_domain::workload;
use atelier_engine::clock;
use atelier_engine::store::{Author, Store, WriteTx};
use axum::http::request::Parts;
use leptos::prelude::use_context;
use tower_sessions::Session;

use crate::error::AppError;
use crate::server::actor::Actor;
use crate::server::guard::NoSuchWorkspace;
use crate::server::passwords::{HashError, Turn};
use crate::server::request::RequestInfo;
use crate::server::state::AppState;

/// The caller, from the context of the request. Made before the first `await`, since contexts belong to the owner.
pub struct Caller {
    /// The server.
    pub state: AppState,
    /// The request.
    pub request: RequestInfo,
    /// Its headers.
    pub headers: axum::http::HeaderMap,
    session: Option<Session>,
    actor: Option<Arc<Actor>>,
}

impl Caller {
    /// Reads the context.
    pub fn here() -> Result<Self, AppError> {
        let outside = || AppError::Transport { message: "called outside of a request".into() };
        let parts = use_context::<Parts>().ok_or_else(outside)?;
        let state = use_context::<AppState>().ok_or_else(outside)?;
        Self::of(state, parts)
    }

    /// Of a request that passed the guard, for routes that are neither pages nor server functions. A workspace that is not
    /// the caller's does not exist.
    pub fn of(state: AppState, parts: Parts) -> Result<Self, AppError> {
        let outside = || AppError::Transport { message: "called outside of a request".into() };
        if parts.extensions.get::<NoSuchWorkspace>().is_some() {
            return Err(AppError::not_found("workspace"));
        }
        let request = parts.extensions.get::<RequestInfo>().cloned().ok_or_else(outside)?;
        let session = parts.extensions.get::<Session>().cloned();
        let actor = parts.extensions.get::<Arc<Actor>>().cloned();
        Ok(Self { state, request, headers: parts.headers, session, actor })
    }

    /// Somebody who came with a personal token. There is no web session.
    pub fn with_token(state: AppState, request: RequestInfo, actor: Arc<Actor>) -> Self {
        Self { state, request, headers: axum::http::HeaderMap::new(), session: None, actor: Some(actor) }
    }

    /// Whoever is signed in, to be kept.
    pub fn shared_actor(&self) -> Result<Arc<Actor>, AppError> {
        self.actor.clone().ok_or(AppError::SignedOut)
    }

    /// Whoever is signed in.
    pub fn actor(&self) -> Result<&Actor, AppError> {
        self.actor.as_deref().ok_or(AppError::SignedOut)
    }

    /// Allows an action on things that are nobody's own in particular, or refuses with who can help.
    pub async fn authorise(&self, action: Action) -> Result<&Actor, AppError> {
        self.authorise_for(action, Whose::Others).await
    }

    /// Allows an action on somebody's things, or refuses with who can help.
    pub async fn authorise_for(&self, action: Action, whose: Whose) -> Result<&Actor, AppError> {
        let actor = self.actor()?;
        if let Some(origin) = actor.origin.as_ref().filter(|_| !workload::allows(action)) {
            return Err(AppError::Refused {
                code: "workload.not-allowed".into(),
                message: format!(
                    "The token of {origin} does not include {}, whatever its owner may do. Sign in, or use a personal token.",
                    action.key()
                ),
            });
        }
        let Err(denied) = actor.person.rights().check(action, whose) else {
            return Ok(actor);
        };
        let helpers = self.checked(self.store().owner_names(&actor.workspace.id, 3).await)?;
        tracing::info!(action = action.key(), "refused: the right is missing");
        Err(AppError::Forbidden { denied, helpers })
    }

    /// Begins a change and judges the actor again inside it: rights that were taken away while the request waited count.
    pub async fn begin(&self, action: Action, whose: Whose) -> Result<WriteTx<'_>, AppError> {
        let actor = self.authorise_for(action, whose).await?;
        let mut tx = self.checked(self.store().begin(clock::now()).await)?;
        let now = self.checked(tx.person(&actor.person.id).await)?.ok_or(AppError::SignedOut)?;
        if now.state == AccountState::Disabled {
            return Err(AppError::SignedOut);
        }
        match now.rights().check(action, whose) {
            Ok(()) => Ok(tx),
            Err(denied) => Err(AppError::Forbidden { denied, helpers: Vec::new() }),
        }
    }

    /// A turn at the password hasher, or the request to come back.
    pub async fn turn(&self) -> Result<Turn, AppError> {
        match self.state.passwords().turn().await {
            Err(HashError::Busy) => Err(AppError::TooMany {
                message: "The server is checking as many passwords as it can. Try again in a few seconds.".into(),
                retry_after_secs: 5,
            }),
            other => self.checked(other),
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.state.store()
    }

    /// The web session.
    pub fn session(&self) -> Result<&Session, AppError> {
        self.session.as_ref().ok_or(AppError::SignedOut)
    }

    /// The author of a change, with the reason that was given.
    pub fn author(&self, why: Option<String>) -> Result<Author, AppError> {
        Ok(Author { actor: self.actor()?.as_author(), request: self.request.id.clone(), why })
    }

    /// Logs what broke and gives people the request's id instead.
    pub fn checked<T, E: std::fmt::Display>(&self, result: Result<T, E>) -> Result<T, AppError> {
        result.map_err(|error| {
            tracing::error!(%error, "a call failed");
            AppError::Internal { request: self.request.id.clone() }
        })
    }
}
