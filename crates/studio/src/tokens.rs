//! Tokens that were used lately, in memory: a trip to the database for each request would cost more than the
//! rest of it.
//!
//! An entry counts as long as nothing that concerns people has changed since it was read; every such change
//! is a revision with the topic *people*, so a token that was revoked, an account that was disabled or a role
//! that was taken away counts from the next request on. What another process changes (`atelier token revoke`
//! on the same database) is seen within a second; see [`crate::kept`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use atelier_domain::account::AccountState;
use atelier_domain::history::Topic;
use atelier_domain::time::Span;
use atelier_domain::token::is_secret;
use atelier_domain::{SessionKey, Timestamp, TokenId, UserId};
use atelier_engine::clock;
use atelier_engine::store::{self, Store};

use crate::caller::Actor;
use crate::kept::Mark;
use crate::seats::{Seat, Seats};
use crate::secret;
use crate::studio::Studio;

/// How many requests of one person may wait for something at once.
pub const MAX_WAITS: usize = 500;

/// Who holds a token.
#[derive(Debug)]
struct Entry {
    token: TokenId,
    actor: Arc<Actor>,
    name: String,
    expires_at: Timestamp,
    mark: Mark,
    used_at: AtomicI64,
    flushed_at: AtomicI64,
}

/// Why a token is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLetIn {
    /// There is no such token, or its owner's account is disabled.
    Unknown,
    /// Its time is over.
    Expired { name: String },
    /// Its owner has a temporary password.
    TemporaryPassword,
}

/// The tokens in use, by the hash of their secret.
#[derive(Debug, Default)]
pub struct TokenCache {
    entries: RwLock<HashMap<String, Arc<Entry>>>,
    waits: Seats<UserId>,
}

impl TokenCache {
    /// Finds who holds the secret, and notes that it was used.
    pub async fn enter(&self, state: &Studio, given: &str) -> store::Result<Result<Arc<Actor>, NotLetIn>> {
        if !is_secret(given) {
            return Ok(Err(NotLetIn::Unknown));
        }
        let hash = secret::hash(given);
        let now = clock::now();
        let known = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned();
        let entry = match known.filter(|entry| entry.mark.holds(state.live(), &[Topic::People])) {
            Some(entry) => entry,
            None => match self.read(state, &hash, now).await? {
                Ok(entry) => entry,
                Err(refusal) => {
                    self.entries.write().unwrap_or_else(PoisonError::into_inner).remove(&hash);
                    return Ok(Err(refusal));
                }
            },
        };
        if entry.expires_at <= now {
            return Ok(Err(NotLetIn::Expired { name: entry.name.clone() }));
        }
        entry.used_at.store(now.0, Ordering::Relaxed);
        Ok(Ok(Arc::clone(&entry.actor)))
    }

    async fn read(&self, state: &Studio, hash: &str, now: Timestamp) -> store::Result<Result<Arc<Entry>, NotLetIn>> {
        let mark = Mark::take(state.live());
        let Some((token, person)) = state.store().token_and_person(hash).await? else {
            return Ok(Err(NotLetIn::Unknown));
        };
        match person.state {
            AccountState::Disabled => return Ok(Err(NotLetIn::Unknown)),
            AccountState::Waiting => return Ok(Err(NotLetIn::TemporaryPassword)),
            AccountState::Active => {}
        }
        if token.expires_at <= now {
            return Ok(Err(NotLetIn::Expired { name: token.name }));
        }
        let Some(workspace) = state.workspace_by_id(&token.workspace).filter(|it| it.id == person.workspace) else {
            return Ok(Err(NotLetIn::Unknown));
        };
        let session = SessionKey::new(token.id.as_str());
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let flushed = token.used_at.map_or(0, |at| at.0);
        let used = entries.get(hash).map_or(flushed, |entry| entry.used_at.load(Ordering::Relaxed));
        let entry = Arc::new(Entry {
            token: token.id,
            actor: Arc::new(Actor { person, workspace, session, origin: None }),
            name: token.name,
            expires_at: token.expires_at,
            mark,
            used_at: AtomicI64::new(used),
            flushed_at: AtomicI64::new(flushed),
        });
        entries.insert(hash.to_owned(), Arc::clone(&entry));
        Ok(Ok(entry))
    }

    /// When a token was last used, if that was since the server started.
    pub fn last_use(&self, token: &TokenId) -> Option<Timestamp> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.values().find(|entry| entry.token == *token)?;
        let at = entry.used_at.load(Ordering::Relaxed);
        (at > 0).then_some(Timestamp(at))
    }

    /// Writes last uses, and forgets what was not used for an hour.
    pub async fn flush(&self, store: &Store, now: Timestamp) {
        let entries: Vec<Arc<Entry>> =
            self.entries.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let used: Vec<(&Entry, Timestamp)> = entries
            .iter()
            .map(|entry| (entry.as_ref(), Timestamp(entry.used_at.load(Ordering::Relaxed))))
            .filter(|(entry, at)| at.0 > entry.flushed_at.load(Ordering::Relaxed))
            .collect();
        let rows: Vec<_> = used.iter().map(|(entry, at)| (entry.token.as_str(), *at)).collect();
        if let Err(error) = store.flush_token_uses(&rows).await {
            tracing::warn!(%error, "last uses of tokens were not written; the next minute tries again");
            return;
        }
        used.iter().for_each(|(entry, at)| entry.flushed_at.store(at.0, Ordering::Relaxed));
        let is_recent = |entry: &Entry| now.since(Timestamp(entry.used_at.load(Ordering::Relaxed))) < Span::hours(1);
        self.entries.write().unwrap_or_else(PoisonError::into_inner).retain(|_, entry| is_recent(entry));
    }

    /// Takes one of the places in which a person's requests may wait; none if all are taken.
    pub fn wait_of(&self, person: &UserId) -> Option<Seat<UserId>> {
        self.waits.take(person, MAX_WAITS)
    }

    /// How many requests of a person wait right now.
    pub fn waiting(&self, person: &UserId) -> usize {
        self.waits.taken(person)
    }
}
