//! Who makes a request: read from the session and the store each time, so that a change of rights counts at once.

use atelier_domain::SessionKey;
use atelier_domain::history::Actor as HistoryActor;
use atelier_engine::clock;
use atelier_engine::store::{self, Person, Workspace};
use tower_sessions::Session;

use super::session_store::{is_alive, key_of, keys};
use super::state::AppState;

/// Somebody who is signed in.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The person, with roles as they are now.
    pub person: Person,
    /// The workspace that the session is for.
    pub workspace: Workspace,
    /// The session.
    pub session: SessionKey,
    /// From where, if not from the person's own hands: `instance desk`, `job-12`.
    pub origin: Option<String>,
}

impl Actor {
    /// The person as the history names them.
    pub fn as_author(&self) -> HistoryActor {
        let name = match &self.origin {
            Some(origin) => format!("{} (from {origin})", self.person.name),
            None => self.person.name.clone(),
        };
        HistoryActor::Person { id: self.person.id.clone(), name }
    }
}

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
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}
