//! When shares of applications were last used.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use atelier_domain::Timestamp;
use atelier_engine::store::{ShareKey, Store};

/// When shares were last used, in memory until the next minute.
#[derive(Debug, Default)]
pub struct ShareUses {
    used: Mutex<HashMap<ShareKey, Timestamp>>,
}

impl ShareUses {
    /// Notes that a share let somebody in.
    pub fn note(&self, key: ShareKey, now: Timestamp) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key, now);
    }

    /// The last use that is not written yet.
    pub fn last(&self, key: &ShareKey) -> Option<Timestamp> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    /// Writes last uses; what cannot be written waits for the next time.
    pub async fn flush(&self, store: &Store) {
        let used: Vec<(ShareKey, Timestamp)> =
            self.used.lock().unwrap_or_else(PoisonError::into_inner).clone().into_iter().collect();
        match store.flush_share_uses(&used).await {
            Ok(()) => {
                let mut now = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                now.retain(|key, at| used.iter().all(|(written, when)| written != key || when != at));
            }
            Err(error) => tracing::warn!(%error, "last uses of shares were not written; the next minute tries again"),
        }
    }
}
