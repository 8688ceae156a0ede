//! Who was here when. Last requests are kept in memory and written once a minute: a write for every page
//! would be the most expensive thing that this server does.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use atelier_domain::{SessionKey, Timestamp, UserId};
use atelier_engine::store::{Store, WebSessionInfo};

/// Last requests by person and by session.
#[derive(Debug, Default)]
pub struct Presence {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    people: HashMap<UserId, Timestamp>,
    sessions: HashMap<SessionKey, Timestamp>,
    /// What was seen since the last flush.
    dirty: bool,
}

impl Presence {
    pub fn note(&self, person: &UserId, session: &SessionKey, now: Timestamp) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Most requests find their entries: only the first one of a session clones its ids.
        match seen.people.get_mut(person) {
            Some(at) => *at = now,
            None => drop(seen.people.insert(person.clone(), now)),
        }
        match seen.sessions.get_mut(session) {
            Some(at) => *at = now,
            None => drop(seen.sessions.insert(session.clone(), now)),
        }
        seen.dirty = true;
    }

    /// A person's last request, if it was since the server started.
    pub fn person(&self, id: &UserId) -> Option<Timestamp> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).people.get(id).copied()
    }

    pub fn online(&self, now: Timestamp) -> u64 {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.people.values().filter(|at| atelier_domain::account::is_online(Some(**at), now)).count() as u64
    }

    /// Forgets somebody who is shut out.
    pub fn forget(&self, person: &UserId) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).people.remove(person);
    }

    /// A session's last request, if it was since the server started.
    pub fn session(&self, key: &SessionKey) -> Option<Timestamp> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).sessions.get(key).copied()
    }

    /// A session's last request, as far as memory and store know.
    pub fn last_request(&self, session: &WebSessionInfo) -> Timestamp {
        self.session(&session.key).unwrap_or(session.seen_at).max(session.seen_at)
    }

    /// Writes what was seen since the last time, and forgets who was not seen for an hour.
    pub async fn flush(&self, store: &Store, now: Timestamp) {
        let (people, sessions) = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if !std::mem::take(&mut seen.dirty) {
                return;
            }
            let people: Vec<_> = seen.people.iter().map(|(id, at)| (id.clone(), *at)).collect();
            let sessions: Vec<_> = seen.sessions.iter().map(|(key, at)| (key.clone(), *at)).collect();
            (people, sessions)
        };
        let people: Vec<_> = people.iter().map(|(id, at)| (id.as_str(), *at)).collect();
        let sessions: Vec<_> = sessions.iter().map(|(key, at)| (key.as_str(), *at)).collect();
        if let Err(error) = store.flush_seen(&people, &sessions).await {
            tracing::warn!(%error, "last-seen times were not written; the next minute tries again");
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).dirty = true;
            return;
        }
        let recent = |at: &Timestamp| now.since(*at) < atelier_domain::time::Span::hours(1);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.people.retain(|_, at| recent(at));
        seen.sessions.retain(|_, at| recent(at));
    }
}

/// Whether a session has reached neither of its limits.
pub fn is_alive(
    info: &WebSessionInfo,
    presence: &Presence,
    limits: atelier_domain::session::Limits,
    now: Timestamp,
) -> bool {
    limits.is_alive(info.created_at, presence.last_request(info), now)
}
