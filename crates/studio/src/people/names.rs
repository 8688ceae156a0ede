//! Names of people by their ids. Who has no account any more goes by the id.

use std::collections::HashMap;

use atelier_domain::UserId;
use atelier_domain::error::AppError;
use atelier_domain::text::{is_id, search_text};
use atelier_engine::store::Person;

use crate::caller::Caller;

/// Somebody of the caller's workspace, by an e-mail address or an id as it was typed.
pub async fn somebody(caller: &Caller, typed: &str) -> Result<Option<Person>, AppError> {
    let typed = search_text(typed);
    let found = if typed.contains('@') {
        let account = caller.checked(caller.store().account_by_email(&typed.to_lowercase()).await)?;
        account.map(|account| account.person)
    } else if is_id(&typed) {
        caller.checked(caller.store().person(&UserId::new(typed)).await)?
    } else {
        None
    };
    let workspace = &caller.actor()?.workspace.id;
    Ok(found.filter(|person| person.workspace == *workspace))
}

/// The store is asked for so many at once.
const AT_ONCE: usize = 500;

/// Names and e-mail addresses.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<UserId, (String, String)>);

impl Names {
    pub async fn of(caller: &Caller, ids: impl IntoIterator<Item = UserId>) -> Result<Self, AppError> {
        let mut ids: Vec<UserId> = ids.into_iter().collect();
        ids.sort();
        ids.dedup();
        let mut known = HashMap::new();
        for ids in ids.chunks(AT_ONCE) {
            let people = caller.checked(caller.store().people_by_id(ids).await)?;
            known.extend(people.into_iter().map(|person| (person.id, (person.name, person.email))));
        }
        Ok(Self(known))
    }

    /// Whether somebody has an account.
    pub fn has(&self, id: &UserId) -> bool {
        self.0.contains_key(id)
    }

    pub fn name(&self, id: &UserId) -> String {
        self.0.get(id).map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    /// Their e-mail address; empty for who has no account any more.
    pub fn email(&self, id: &UserId) -> String {
        self.0.get(id).map(|(_, email)| email.clone()).unwrap_or_default()
    }
}
