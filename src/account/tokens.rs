//! What forms change.

use atelier_domain::access::{Action, Whose};
use atelier_domain::text::is_id;
use atelier_domain::token::{Lifetime, TokenName};
use atelier_domain::{SessionKey, TokenId};
use atelier_engine::live::Cut;
use atelier_studio::secret;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn create_token(name: &str, days: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    let (name, life) = match (TokenName::parse(name), Lifetime::parse(days)) {
        (Ok(name), Ok(life)) => (name, life),
        (a, b) => return Err(AppError::Invalid { problems: [a.err(), b.err()].into_iter().flatten().collect() }),
    };
    let (secret, hash) = secret::fresh();
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let id = &caller.actor()?.person.id;
    let person = caller.checked(tx.person(id).await)?.ok_or(AppError::SignedOut)?;
    let made = caller.checked(tx.insert_token(&person, &name, life, &hash, &author).await)?;
    made.map_err(|refusal| AppError::Refused { code: refusal.code().into(), message: refusal.to_string() })?;
    caller.checked(tx.commit().await)?;
    let name = name.as_str();
    Ok(Done {
        secret_label: format!("Token “{name}”"),
        secret,
        ..Done::stay(format!("The token “{name}” was made. It works for {} days.", life.days()))
    })
}

pub async fn revoke_token(token: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    if !is_id(token) {
        return Err(AppError::not_found("token of yours"));
    }
    let token = TokenId::new(token);
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let Some(name) = caller.checked(tx.revoke_token(&actor.person, &token, &author).await)? else {
        return Err(AppError::not_found("token of yours"));
    };
    caller.checked(tx.commit().await)?;
    // Requests of it that wait end at once.
    caller.studio.live().cut(Cut::Session(SessionKey::new(token.as_str())));
    Ok(Done::stay(format!("The token “{name}” was revoked and works no more.")))
}
