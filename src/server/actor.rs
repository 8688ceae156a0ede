//! Who makes a request. A change of rights counts from the next request on; see [`atelier_studio::kept`].

use std::sync::Arc;

use atelier_domain::SessionKey;
use atelier_domain::account::AccountState;
use atelier_domain::history::Topic;
use atelier_engine::store::WebSessionInfo;
use atelier_engine::{clock, store};
use atelier_studio::caller::Actor;
use atelier_studio::kept::Kept;
use atelier_studio::presence::is_alive;
use tower_sessions::Session;

use crate::server::session_store::{key_of, keys};
use crate::server::state::AppState;

/// Who asked lately, by session.
#[derive(Debug)]
pub struct Actors {
    kept: Kept<SessionKey, SignedIn>,
}

#[derive(Debug)]
struct SignedIn {
    session: WebSessionInfo,
    actor: Arc<Actor>,
}

/// Why there is nobody.
enum Missing {
    /// There is no such session, or its account is disabled or gone. Not kept: anybody can make up cookies.
    Nobody,
    Broken(store::Error),
}

impl Default for Actors {
    fn default() -> Self {
        // Who signs out is told to the history alone.
        Self { kept: Kept::of(&[Topic::People, Topic::History]) }
    }
}

impl Actors {
    /// To be called when a session has been removed without a revision.
    pub fn forget(&self, key: &SessionKey) {
        self.kept.forget(key);
    }

    /// Finds who is signed in. A session of a disabled or removed account is nobody's.
    pub async fn find(&self, state: &AppState, session: &Session) -> Result<Option<Arc<Actor>>, FindError> {
        let Some(id) = session.id() else {
            return Ok(None);
        };
        let key = key_of(&id);
        let found = match self.kept.get(state, key.clone(), read(state, key)).await {
            Ok(found) => Some(found),
            Err(Missing::Nobody) => None,
            Err(Missing::Broken(error)) => return Err(error.into()),
        };
        let limits = state.config().sessions;
        let alive = found.filter(|found| is_alive(&found.session, state.presence(), limits, clock::now()));
        if alive.is_none() {
            // Looked for by the session layer too, which then takes the useless cookie away.
            session.get_value(keys::USER).await?;
        }
        Ok(alive.map(|found| Arc::clone(&found.actor)))
    }
}

/// Session and person in one statement; the session's own data are left to who changes them.
async fn read(state: &AppState, key: SessionKey) -> Result<SignedIn, Missing> {
    let found = state.store().session_and_person(&key).await.map_err(Missing::Broken)?;
    let (session, person) = found.ok_or(Missing::Nobody)?;
    if person.state == AccountState::Disabled {
        return Err(Missing::Nobody);
    }
    let workspace = state.workspace_by_id(&person.workspace).ok_or(Missing::Nobody)?;
    Ok(SignedIn { session, actor: Arc::new(Actor { person, workspace, session: key, origin: None }) })
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
