//! Who uses how much, counted at most every little while; what is written meanwhile is added.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use atelier_domain::Timestamp;
use atelier_domain::time::Span;
use atelier_engine::clock;
use atelier_files::{Area, Usage, UsedBy};

use super::Desk;
use crate::api::caller::Caller;
use crate::error::AppError;

/// What was counted is good for so long.
const FRESH: Span = Span::seconds(60);

/// What was counted last.
#[derive(Debug, Default)]
pub struct Counted {
    /// Held while somebody counts: one at a time is enough.
    turn: tokio::sync::Mutex<()>,
    last: Mutex<Option<(Arc<Usage>, Timestamp)>>,
    /// Bytes written since, by short name.
    added: Mutex<HashMap<String, u64>>,
}

impl Counted {
    fn last(&self) -> Option<(Arc<Usage>, Timestamp)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes bytes that somebody has written.
    pub fn add(&self, handle: &str, bytes: u64) {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        *added.entry(handle.to_owned()).or_default() += bytes;
    }

    /// What is there has changed by more than what was written: it is counted anew when somebody asks.
    pub fn forget(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn has_news(&self) -> bool {
        !self.added.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Counts, unless somebody has since `asked`. One at a time is enough.
    async fn count(&self, area: Arc<Area>, asked: Timestamp) -> Result<(Arc<Usage>, Timestamp), String> {
        let _turn = self.turn.lock().await;
        if let Some((usage, at)) = self.last().filter(|(_, at)| *at > asked) {
            return Ok((usage, at));
        }
        self.added.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let now = clock::now();
        let found = tokio::task::spawn_blocking(move || area.usage()).await.map_err(|error| error.to_string())?;
        let usage = Arc::new(found.map_err(|error| error.to_string())?);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((usage.clone(), now));
        Ok((usage, now))
    }
}

/// What everybody uses, and when that was counted. Nobody waits for a count where there is one, however old, unless they want
/// the newest: it is made anew beside.
pub async fn usage(caller: &Caller, desk: &Desk, wants_news: bool) -> Result<(Arc<Usage>, Timestamp), AppError> {
    let (files, now) = (caller.state.files().clone(), clock::now());
    if let Some((usage, at)) = files.counted.last() {
        let is_fresh = now.since(at) < FRESH;
        if is_fresh && !(wants_news && files.counted.has_news()) {
            return Ok((usage, at));
        }
        if !wants_news {
            let area = desk.area.clone();
            tokio::spawn(async move {
                if let Err(error) = files.counted.count(area, now).await {
                    tracing::warn!(error, "files could not be counted");
                }
            });
            return Ok((usage, at));
        }
    }
    caller.checked(files.counted.count(desk.area.clone(), now).await)
}

/// What the caller uses.
pub async fn used_by(caller: &Caller, desk: &Desk) -> Result<UsedBy, AppError> {
    let (usage, _) = usage(caller, desk, false).await?;
    let mut used = of(&usage, desk.who.uid, &desk.who.handle);
    let added = caller.state.files().counted.added.lock().unwrap_or_else(PoisonError::into_inner);
    used.bytes = used.bytes.saturating_add(added.get(&desk.who.handle).copied().unwrap_or_default());
    Ok(used)
}

/// What one person uses: everything that belongs to their user, or what lies in their folders where they have none.
pub fn of(usage: &Usage, uid: Option<u32>, handle: &str) -> UsedBy {
    let found = match uid {
        Some(uid) => usage.by_user.get(&uid),
        None => usage.by_place.get(handle),
    };
    found.cloned().unwrap_or_default()
}
