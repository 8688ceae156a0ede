//! Oneself: coming in, profile, sessions, tokens, SSH keys.

pub mod entrance;
pub mod profile;
pub mod sessions;
pub mod ssh_keys;
pub mod tokens;

use atelier_domain::error::AppError;
use atelier_domain::history::Event;
use atelier_engine::store::WriteTx;

use crate::caller::Caller;

/// Ends a change to one's own account with what the history says of it.
async fn record(caller: &Caller, mut tx: WriteTx<'_>, event: &Event) -> Result<(), AppError> {
    let actor = caller.actor()?;
    let author = caller.author(None)?;
    caller.checked(tx.record(&actor.workspace.id, &author, Some(&actor.person.subject()), event).await)?;
    caller.checked(tx.commit().await)?;
    Ok(())
}
