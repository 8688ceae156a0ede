//! Web sessions for tower-sessions, kept in the store under a hash of the cookie's secret.
//!
//! The session layer saves a session only when its data changes, so neither of the two limits may depend on
//! saving: the absolute end is fixed at sign-in, and idleness is judged by the last request, which
//! [`super::presence`] knows.

use std::collections::HashMap;
use std::sync::Arc;

use atelier_domain::text::hex;
use atelier_domain::{SessionKey, Timestamp, UserId, WorkspaceId};
use atelier_engine::clock;
use atelier_engine::store::{Store, WebSession, WebSessionInfo};
use atelier_studio::presence::{Presence, is_alive};
use sha2::{Digest as _, Sha256};
use tower_sessions::SessionStore;
use tower_sessions::cookie::time::OffsetDateTime;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};

use crate::server::actor::Actors;

/// What is put into a session at sign-in.
pub mod keys {
    pub const USER: &str = "user";
    pub const WORKSPACE: &str = "workspace";
    pub const DEVICE: &str = "device";
    pub const ADDRESS: &str = "address";
    /// Milliseconds since the epoch.
    pub const CREATED_AT: &str = "created_at";
    /// The account's count of ended sessions when its password was checked.
    pub const EPOCH: &str = "epoch";
}

#[derive(Clone, Debug)]
pub struct StoredSessions {
    store: Arc<Store>,
    presence: Arc<Presence>,
    actors: Arc<Actors>,
    limits: atelier_domain::session::Limits,
}

impl StoredSessions {
    /// Sessions in `store`, which last as `limits` say.
    pub const fn new(
        store: Arc<Store>,
        presence: Arc<Presence>,
        actors: Arc<Actors>,
        limits: atelier_domain::session::Limits,
    ) -> Self {
        Self { store, presence, actors, limits }
    }

    async fn insert(&self, record: &Record) -> Result<()> {
        let text = |key: &str| record.data.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let number = |key: &str| record.data.get(key).and_then(serde_json::Value::as_i64).unwrap_or_default();
        let created_at = Timestamp(number(keys::CREATED_AT));
        let user = text(keys::USER);
        if user.is_empty() {
            return Err(Error::Backend("a session needs somebody who signed in".into()));
        }
        let info = WebSessionInfo {
            key: key_of(&record.id),
            workspace: WorkspaceId::new(text(keys::WORKSPACE)),
            user: UserId::new(user),
            device: text(keys::DEVICE),
            address: text(keys::ADDRESS),
            created_at,
            seen_at: clock::now(),
            ends_at: created_at.plus(self.limits.absolute),
        };
        let session = WebSession { info, data: data_of(record)? };
        written(self.store.create_web_session(&session, number(keys::EPOCH)).await)
    }
}

fn data_of(record: &Record) -> Result<String> {
    serde_json::to_string(&record.data).map_err(|error| Error::Encode(error.to_string()))
}

fn written(answer: atelier_engine::store::Result<bool>) -> Result<()> {
    match answer {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::Backend("the account's sessions were ended in the meantime".into())),
        Err(error) => Err(Error::Backend(error.to_string())),
    }
}

#[async_trait::async_trait]
impl SessionStore for StoredSessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        // An id of 128 random bits is never met twice.
        self.insert(record).await
    }

    async fn save(&self, record: &Record) -> Result<()> {
        written(self.store.save_web_session(&key_of(&record.id), &data_of(record)?).await)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let key = key_of(id);
        let found = self.store.web_session(&key).await.map_err(|error| Error::Backend(error.to_string()))?;
        let Some(WebSession { info, data }) = found else {
            return Ok(None);
        };
        if !is_alive(&info, &self.presence, self.limits, clock::now()) {
            return Ok(None);
        }
        let data: HashMap<String, serde_json::Value> =
            serde_json::from_str(&data).map_err(|error| Error::Decode(error.to_string()))?;
        let expiry_date = OffsetDateTime::from_unix_timestamp(info.ends_at.0.div_euclid(1_000))
            .map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let key = key_of(id);
        let deleted = self.store.delete_web_session(&key).await;
        self.actors.forget(&key);
        deleted.map_err(|error| Error::Backend(error.to_string()))
    }
}

/// The name under which a session is stored.
pub fn key_of(id: &Id) -> SessionKey {
    SessionKey::new(hex(&Sha256::digest(id.0.to_be_bytes())))
}
