//! Who makes a request: read from the session and the store each time, so that a change of rights counts at
//! once.

use atelier_engine::{clock, store};
use atelier_studio::caller::Actor;
use atelier_studio::presence::is_alive;
use tower_sessions::Session;

use crate::server::session_store::{key_of, keys};
use crate::server::state::AppState;

/// Finds who is signed in. A session of a disabled or removed account is nobody's.
pub async fn find(state: &AppState, session: &Session) -> Result<Option<Actor>, FindError> {
    let Some(id) = session.id() else {
        return Ok(None);
    };
    let key = key_of(&id);
    // Session and person in one statement; the session's own data are left to who changes them.
    let found = state.store().session_and_person(&key).await?;
    let alive = found.filter(|(info, _)| is_alive(info, state.presence(), state.config().sessions, clock::now()));
    let Some((_, person)) = alive else {
        // Looked for by the session layer too, which then takes the useless cookie away.
        session.get_value(keys::USER).await?;
        return Ok(None);
    };
    if person.state == atelier_domain::account::AccountState::Disabled {
        return Ok(None);
    }
    let Some(workspace) = state.workspace_by_id(&person.workspace) else {
        return Ok(None);
    };
    Ok(Some(Actor { person, workspace, session: key, origin: None }))
}

/// The session or the account could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The session layer failed.
    #[error("session: {0}")]
    Session(#[from] tower_sessions::session::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
}
