//! One's own name, time zone, theme, password and bell.

use atelier_domain::SessionKey;
use atelier_domain::access::{Action, Whose};
use atelier_domain::account::{Ended, Ending, Theme};
use atelier_domain::error::AppError;
use atelier_domain::history::Event;
use atelier_domain::name::PersonName;
use atelier_domain::zone::ZoneName;
use atelier_engine::live::Cut;

use super::record;
use crate::caller::Caller;

/// Changes name, time zone and theme.
pub async fn set_profile(caller: &Caller, name: &PersonName, zone: &ZoneName, theme: Theme) -> Result<(), AppError> {
    let id = &caller.actor()?.person.id;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.set_profile(id, name.as_str(), zone.as_str(), theme).await)?;
    record(caller, tx, &Event::ProfileChanged).await
}

/// Changes the theme.
pub async fn set_theme(caller: &Caller, theme: Theme) -> Result<(), AppError> {
    let id = &caller.actor()?.person.id;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.set_theme(id, theme).await)?;
    record(caller, tx, &Event::ProfileChanged).await
}

/// Puts the hash of a new password in the place of the one that was checked; every other session ends, and
/// what else is wanted. Says how many sessions did, and what else.
pub async fn set_password(
    caller: &Caller,
    checked: &str,
    hash: &str,
    zone: Option<&ZoneName>,
    ending: Ending,
) -> Result<(u64, Ended), AppError> {
    let actor = caller.actor()?;
    let id = &actor.person.id;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    if !caller.checked(tx.replace_password(id, checked, hash).await)? {
        let why = "Your password was replaced in the meantime, and this change was not made. Sign in again.";
        return Err(AppError::refused("account.password-replaced", why));
    }
    if let Some(zone) = zone {
        caller.checked(tx.set_time_zone(id, zone.as_str()).await)?;
    }
    let sessions_ended = caller.checked(tx.end_sessions(id, Some(&actor.session)).await)?;
    let ended = caller.checked(tx.end_access(&actor.person, ending, &caller.author(None)?).await)?;
    record(caller, tx, &Event::PasswordChanged { sessions_ended }).await?;
    caller.studio.live().cut(Cut::PersonExcept(id.clone(), actor.session.clone()));
    cut_tokens(caller, &ended);
    Ok((sessions_ended, ended))
}

/// Requests that wait with tokens which have ended end at once.
pub(crate) fn cut_tokens(caller: &Caller, ended: &Ended) {
    for token in &ended.tokens {
        caller.studio.live().cut(Cut::Session(SessionKey::new(token.as_str())));
    }
}

/// Marks what the bell holds as read.
pub async fn read_notices(caller: &Caller) -> Result<(), AppError> {
    let id = &caller.actor()?.person.id;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    caller.checked(tx.read_notices(id).await)?;
    caller.checked(tx.commit().await)?;
    Ok(())
}
