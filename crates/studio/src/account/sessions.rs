//! What pages read.

use atelier_domain::error::AppError;
use atelier_domain::{SessionKey, Timestamp};
use atelier_engine::clock;

use crate::caller::Caller;

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
pub async fn own_sessions(caller: &Caller) -> Result<Vec<SessionRow>, AppError> {
    let actor = caller.actor()?;
    let limits = caller.studio.settings().sessions;
    let sessions = caller.checked(caller.store().web_sessions_of(&actor.person.id).await)?;
    let mut rows: Vec<SessionRow> = sessions
        .into_iter()
        .map(|session| {
            let seen_at = caller.studio.presence().last_request(&session);
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
