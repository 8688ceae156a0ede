//! Who uses how much, counted at most every little while; what is written meanwhile is added.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atelier_domain::Timestamp;
use atelier_domain::error::AppError;
use atelier_domain::time::Span;
use atelier_engine::clock;
use atelier_files::{Area, Usage, UsedBy};

use crate::caller::Caller;
use crate::files::desk::Desk;

/// What was counted is good for so long.
const FRESH: Span = Span::seconds(60);

/// What was counted last.
#[derive(Debug, Default)]
pub struct Counted {
    /// Held while somebody counts: one at a time is enough.
    turn: tokio::sync::Mutex<()>,
    last: Mutex<Option<Last>>,
    added: Mutex<Added>,
}

/// Bytes written since the last count, by short name.
#[derive(Debug, Default)]
struct Added {
    /// Since the last count began.
    now: HashMap<String, u64>,
    /// Before the count that is under way began: it finds these, and they are added until it has ended.
    before: HashMap<String, u64>,
}

impl Added {
    fn of(&self, handle: &str) -> u64 {
        let found = [&self.now, &self.before].map(|added| added.get(handle).copied().unwrap_or_default());
        found[0].saturating_add(found[1])
    }

    fn begin(&mut self) {
        for (handle, bytes) in self.now.drain() {
            let all = self.before.entry(handle).or_default();
            *all = all.saturating_add(bytes);
        }
    }
}

#[derive(Clone, Debug)]
struct Last {
    usage: Arc<Usage>,
    at: Timestamp,
    /// Whether something was removed since, so that it is too much.
    is_stale: bool,
}

impl Counted {
    fn last(&self) -> Option<Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes bytes that somebody has written.
    pub fn add(&self, handle: &str, bytes: u64) {
        let mut added = self.written();
        let all = added.now.entry(handle.to_owned()).or_default();
        *all = all.saturating_add(bytes);
    }

    fn written(&self) -> MutexGuard<'_, Added> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that bytes are not there after all.
    pub fn take_back(&self, handle: &str, bytes: u64) {
        let added = &mut *self.written();
        let mut left = bytes;
        for added in [&mut added.now, &mut added.before] {
            if let Some(added) = added.get_mut(handle) {
                let gone = left.min(*added);
                *added -= gone;
                left -= gone;
            }
        }
    }

    /// What is there has changed by more than what was written: it is counted anew, beside whoever asks
    /// meanwhile. They are answered with what was known before.
    pub fn forget(self: &Arc<Self>, area: Arc<Area>) {
        match self.last.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(last) => last.is_stale = true,
            None => return,
        }
        self.count_beside(area, clock::now());
    }

    /// Counts beside, unless somebody is at it already.
    fn renew(self: &Arc<Self>, area: Arc<Area>, asked: Timestamp) {
        if self.turn.try_lock().is_ok() {
            self.count_beside(area, asked);
        }
    }

    fn count_beside(self: &Arc<Self>, area: Arc<Area>, asked: Timestamp) {
        let counted = self.clone();
        tokio::spawn(async move {
            if let Err(error) = counted.count(area, asked).await {
                tracing::warn!(error, "files could not be counted");
            }
        });
    }

    fn has_news(&self) -> bool {
        let added = self.written();
        !added.now.is_empty() || !added.before.is_empty()
    }

    /// Counts, unless somebody has since `asked`. One at a time is enough.
    async fn count(&self, area: Arc<Area>, asked: Timestamp) -> Result<(Arc<Usage>, Timestamp), String> {
        let _turn = self.turn.lock().await;
        if let Some(last) = self.last().filter(|last| last.at > asked && !last.is_stale) {
            return Ok((last.usage, last.at));
        }
        self.written().begin();
        let now = clock::now();
        let found = tokio::task::spawn_blocking(move || area.usage()).await.map_err(|error| error.to_string())?;
        let usage = Arc::new(found.map_err(|error| error.to_string())?);
        let last = Last { usage: usage.clone(), at: now, is_stale: false };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        self.written().before.clear();
        Ok((usage, now))
    }

    /// What one person uses, as far as it is known; counted if nothing is. Nobody waits for a count where
    /// there is one.
    pub async fn used(self: &Arc<Self>, area: &Arc<Area>, uid: Option<u32>, handle: &str) -> Result<UsedBy, String> {
        let now = clock::now();
        let usage = match self.last() {
            Some(last) => {
                if last.is_stale || now.since(last.at) >= FRESH {
                    self.renew(area.clone(), now);
                }
                last.usage
            }
            None => self.count(area.clone(), now).await?.0,
        };
        let mut used = of(&usage, uid, handle);
        used.bytes = used.bytes.saturating_add(self.written().of(handle));
        Ok(used)
    }
}

/// What everybody uses, and when that was counted. Nobody waits for a count where there is one, however old,
/// unless they want the newest: it is made anew beside.
pub async fn usage(caller: &Caller, desk: &Desk, wants_news: bool) -> Result<(Arc<Usage>, Timestamp), AppError> {
    let (files, now) = (caller.studio.files().clone(), clock::now());
    if let Some(last) = files.counted.last() {
        let is_fresh = now.since(last.at) < FRESH && !last.is_stale;
        if is_fresh && !(wants_news && files.counted.has_news()) {
            return Ok((last.usage, last.at));
        }
        if !wants_news {
            files.counted.renew(desk.area.clone(), now);
            return Ok((last.usage, last.at));
        }
    }
    caller.checked(files.counted.count(desk.area.clone(), now).await)
}

/// What the caller uses.
pub async fn used_by(caller: &Caller, desk: &Desk) -> Result<UsedBy, AppError> {
    caller.checked(caller.studio.files().counted.used(&desk.area, desk.who.uid, &desk.who.handle).await)
}

/// Whether so many bytes more are within a limit. Nobody is refused for what they have just removed: where
/// that is not counted yet, it is now.
pub async fn check_limit(caller: &Caller, desk: &Desk, limit: u64, more: u64) -> Result<(), AppError> {
    let mut used = used_by(caller, desk).await?.bytes;
    let is_over = |used: u64| used.saturating_add(more) > limit;
    if is_over(used) && caller.studio.files().counted.last().is_some_and(|last| last.is_stale) {
        usage(caller, desk, true).await?;
        used = used_by(caller, desk).await?.bytes;
    }
    if is_over(used) { Err(crate::files::desk::over(used, more, limit)) } else { Ok(()) }
}

/// Counts what one request writes while it writes, so that several at once stay within the limit together.
/// What is dropped before it is kept is taken back.
#[derive(Debug)]
pub struct Meter {
    counted: Arc<Counted>,
    handle: String,
    limit: Option<u64>,
    added: u64,
}

impl Meter {
    /// Begins, with the limit as it is now.
    pub async fn begin(caller: &Caller, desk: &Desk) -> Result<Self, AppError> {
        let limit = caller.checked(caller.store().files_limit(&caller.actor()?.workspace.id).await)?;
        let (counted, handle) = (caller.studio.files().counted.clone(), desk.who.handle.clone());
        Ok(Self { counted, handle, limit, added: 0 })
    }

    /// Whether so many bytes more are within the limit.
    pub async fn check(&self, caller: &Caller, desk: &Desk, more: u64) -> Result<(), AppError> {
        let Some(limit) = self.limit else { return Ok(()) };
        check_limit(caller, desk, limit, more).await
    }

    pub fn add(&mut self, bytes: u64) {
        self.added = self.added.saturating_add(bytes);
        self.counted.add(&self.handle, bytes);
    }

    /// What was written stays.
    pub const fn keep(&mut self) {
        self.added = 0;
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.added > 0 {
            self.counted.take_back(&self.handle, self.added);
        }
    }
}

/// What one person uses: everything that belongs to their user, or what lies in their folders where they have
/// none.
pub fn of(usage: &Usage, uid: Option<u32>, handle: &str) -> UsedBy {
    let found = match uid {
        Some(uid) => usage.by_user.get(&uid),
        None => usage.by_place.get(handle),
    };
    found.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Counted;

    #[test]
    fn what_is_written_counts_while_somebody_counts_and_once_afterwards() {
        let counted = Counted::default();
        let of = |handle: &str| counted.written().of(handle);
        counted.add("ines", 10);
        counted.written().begin();
        counted.add("ines", 5);
        assert_eq!(of("ines"), 15, "the count has not ended");
        assert_eq!(of("noor"), 0);
        counted.take_back("ines", 7);
        assert_eq!(of("ines"), 8);
        counted.take_back("ines", 100);
        assert_eq!(of("ines"), 0, "never less than nothing");
        counted.add("ines", 3);
        counted.written().before.clear();
        assert_eq!(of("ines"), 3);
    }
}
