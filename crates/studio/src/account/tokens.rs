//! What pages read.

use atelier_domain::Timestamp;
use atelier_domain::error::AppError;
use atelier_engine::clock;

use crate::caller::Caller;

/// One of the viewer's own tokens.
#[derive(Clone, Debug)]
pub struct TokenRow {
    /// Its id; not its secret.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// The last use.
    pub used_at: Option<Timestamp>,
    /// Whether it works no more.
    pub is_expired: bool,
}

/// The viewer's own tokens, newest first.
pub async fn own_tokens(caller: &Caller) -> Result<Vec<TokenRow>, AppError> {
    let actor = caller.actor()?;
    let (now, used) = (clock::now(), caller.studio.tokens());
    let tokens = caller.checked(caller.store().tokens_of(&actor.person.id).await)?;
    let row = |token: atelier_engine::store::Token| TokenRow {
        used_at: token.used_at.max(used.last_use(&token.id)),
        is_expired: token.expires_at <= now,
        id: token.id.to_string(),
        name: token.name,
        created_at: token.created_at,
        expires_at: token.expires_at,
    };
    Ok(tokens.into_iter().map(row).collect())
}
