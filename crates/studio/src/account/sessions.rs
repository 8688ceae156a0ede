//! One's own sessions.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::history::Event;
use atelier_domain::text::is_id;
use atelier_domain::{SessionKey, Timestamp};
use atelier_engine::clock;
use atelier_engine::live::Cut;

use super::record;
use crate::caller::Caller;

/// One of the viewer's own sessions.
#[derive(Clone, Debug)]
pub struct SessionRow {
    pub key: SessionKey,
    /// "Chromium on Linux", as the browser said at sign-in.
    pub device: String,
    pub address: String,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    /// When it ends if nothing more happens.
    pub ends_at: Timestamp,
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

/// Signs out of the session that asks.
pub async fn sign_out(caller: &Caller) -> Result<(), AppError> {
    let actor = caller.actor()?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.end_session(&actor.person.id, &actor.session).await)?;
    record(caller, tx, &Event::SignedOut).await?;
    caller.studio.live().cut(Cut::Session(actor.session.clone()));
    Ok(())
}

/// Ends one of one's own sessions. Says whether it is the one that asks.
pub async fn end(caller: &Caller, key: &str) -> Result<bool, AppError> {
    let actor = caller.actor()?;
    let unknown = || AppError::not_found("session of yours");
    if !is_id(key) {
        return Err(unknown());
    }
    let key = SessionKey::new(key);
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    if !caller.checked(tx.end_session(&actor.person.id, &key).await)? {
        return Err(unknown());
    }
    record(caller, tx, &Event::SessionsEnded { count: 1 }).await?;
    let is_current = key == actor.session;
    caller.studio.live().cut(Cut::Session(key));
    Ok(is_current)
}

/// Ends all of one's own sessions, the one that asks included.
pub async fn end_all(caller: &Caller) -> Result<(), AppError> {
    let id = &caller.actor()?.person.id;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let count = caller.checked(tx.end_sessions(id, None).await)?;
    record(caller, tx, &Event::SessionsEnded { count }).await?;
    caller.studio.live().cut(Cut::Person(id.clone()));
    Ok(())
}
