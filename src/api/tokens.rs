//! One's own personal tokens for the API.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Makes a token; its secret is shown once.
#[server(prefix = "/fn", endpoint = "create_token")]
pub async fn create_token(name: String, #[server(default)] days: String) -> Result<Done, AppError> {
    changes::create_token(&name, &days).await
}

/// Takes one of one's own tokens away.
#[server(prefix = "/fn", endpoint = "revoke_token")]
pub async fn revoke_token(token: String) -> Result<Done, AppError> {
    changes::revoke_token(&token).await
}

#[cfg(feature = "ssr")]
mod reads {
    use atelier_domain::Timestamp;
    use atelier_engine::clock;

    use crate::api::caller::Caller;
    use crate::error::AppError;

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
    pub async fn own_tokens() -> Result<Vec<TokenRow>, AppError> {
        let caller = Caller::here()?;
        let actor = caller.actor()?;
        let (now, used) = (clock::now(), caller.state.tokens());
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
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::access::{Action, Whose};
    use atelier_domain::text::is_id;
    use atelier_domain::token::{Lifetime, TokenName};
    use atelier_domain::{SessionKey, TokenId};
    use atelier_engine::live::Cut;

    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::server::rest::secret;

    pub async fn create_token(name: &str, days: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
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
        let caller = Caller::here()?;
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
        caller.state.live().cut(Cut::Session(SessionKey::new(token.as_str())));
        Ok(Done::stay(format!("The token “{name}” was revoked and works no more.")))
    }
}
