//! One's own tokens for the API.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::text::is_id;
use atelier_domain::token::{Lifetime, TokenName};
use atelier_domain::{SessionKey, TokenId};
use atelier_engine::live::Cut;
use atelier_engine::store::Token;

use crate::caller::Caller;
use crate::secret;

/// The viewer's own tokens, newest first.
pub async fn own_tokens(caller: &Caller) -> Result<Vec<Token>, AppError> {
    let mut tokens = caller.checked(caller.store().tokens_of(&caller.actor()?.person.id).await)?;
    for token in &mut tokens {
        token.used_at = token.used_at.max(caller.studio.tokens().last_use(&token.id));
    }
    Ok(tokens)
}

/// Makes a token and gives its secret away, this one time.
pub async fn create(caller: &Caller, name: &TokenName, life: Lifetime) -> Result<String, AppError> {
    let (secret, hash) = secret::fresh();
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let person = caller.checked(tx.person(&caller.actor()?.person.id).await)?.ok_or(AppError::SignedOut)?;
    let made = caller.checked(tx.insert_token(&person, name, life, &hash, &author).await)?;
    made.map_err(|refusal| AppError::refused(refusal.code(), refusal.to_string()))?;
    caller.checked(tx.commit().await)?;
    Ok(secret)
}

/// Takes one of one's own tokens away. Says its name.
pub async fn revoke(caller: &Caller, token: &str) -> Result<String, AppError> {
    let unknown = || AppError::not_found("token of yours");
    let actor = caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    if !is_id(token) {
        return Err(unknown());
    }
    let token = TokenId::new(token);
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let name = caller.checked(tx.revoke_token(&actor.person, &token, &author).await)?.ok_or_else(unknown)?;
    caller.checked(tx.commit().await)?;
    // Requests of it that wait end at once.
    caller.studio.live().cut(Cut::Session(SessionKey::new(token.as_str())));
    Ok(name)
}
