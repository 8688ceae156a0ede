//! Who owns what, by name.

use std::collections::HashMap;

use atelier_domain::UserId;
use atelier_studio::caller::Caller;
use serde::Serialize;

use crate::server::rest::problem::Answered;

/// Somebody as the API shows them. Who has no account any more is an id alone.
#[derive(Clone, Debug, Serialize)]
pub struct PersonView {
    id: String,
    name: Option<String>,
    email: Option<String>,
}

/// People by their id.
#[derive(Debug, Default)]
pub struct People(HashMap<UserId, (String, String)>);

impl People {
    /// Reads who they are. Who asks for their own things is known already, and costs no trip to the store.
    pub async fn of(caller: &Caller, ids: impl IntoIterator<Item = UserId>) -> Answered<Self> {
        let me = &caller.actor()?.person;
        let mut known = HashMap::from([(me.id.clone(), (me.name.clone(), me.email.clone()))]);
        let mut others: Vec<UserId> = ids.into_iter().filter(|id| *id != me.id).collect();
        others.sort();
        others.dedup();
        for person in caller.checked(caller.store().people_by_id(&others).await)? {
            known.insert(person.id, (person.name, person.email));
        }
        Ok(Self(known))
    }

    pub fn view(&self, id: &UserId) -> PersonView {
        let (name, email) = self.0.get(id).cloned().unzip();
        PersonView { id: id.to_string(), name, email }
    }
}
