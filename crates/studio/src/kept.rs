//! What was read lately, in memory: every page needs the same few things, and trips to the database and to
//! the engine's loop for them cost more than the rest of the page.
//!
//! An entry counts as long as nothing that it was made of has changed: no revision with its topics came
//! since, and the engine has made no batch if it was read from the World. So what this process changes counts
//! from the next request on. What another process changes (a second server, `atelier user disable`) is seen
//! with the next revision, and after [`READ_AGAIN`] at the latest.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use atelier_domain::history::Topic;
use atelier_engine::clock;
use atelier_engine::live::Live;
use atelier_engine::run::{EngineHandle, Turn};

use crate::studio::Studio;

/// The longest time for which anything is believed.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Entries of one kind; with more, those that count no longer go.
const MOST: usize = 1_024;

/// When something was read. To be taken before reading: what changes in between makes it stale at once.
#[derive(Debug)]
pub struct Mark {
    at: Instant,
    /// The revision up to which nothing has changed.
    since: AtomicI64,
}

impl Mark {
    pub fn take(live: &Live) -> Self {
        Self { at: clock::instant(), since: AtomicI64::new(live.newest()) }
    }

    /// Whether what was read counts, if these topics are all that it was made of.
    pub fn holds(&self, live: &Live, topics: &[Topic]) -> bool {
        if self.at.elapsed() > READ_AGAIN {
            return false;
        }
        let (since, newest) = (self.since.load(Ordering::Relaxed), live.newest());
        if live.has_changed(since, topics) {
            return false;
        }
        self.since.fetch_max(newest, Ordering::Relaxed);
        true
    }
}

/// Things of one kind that were read lately, by what they were asked for.
#[derive(Debug)]
pub struct Kept<K, V> {
    topics: &'static [Topic],
    sees_world: bool,
    /// How often something was forgotten: who was reading meanwhile may have read what is gone.
    forgotten: AtomicU64,
    entries: RwLock<HashMap<K, Arc<Entry<V>>>>,
}

#[derive(Debug)]
struct Entry<V> {
    mark: Mark,
    turn: Option<Turn>,
    value: Arc<V>,
}

impl<K: Eq + Hash, V> Kept<K, V> {
    /// What is read from the store, and made of nothing but these topics.
    pub fn of(topics: &'static [Topic]) -> Self {
        Self { topics, sees_world: false, forgotten: AtomicU64::new(0), entries: RwLock::default() }
    }

    /// What is read from the World, and from the store no more than these topics.
    pub fn of_world(topics: &'static [Topic]) -> Self {
        Self { sees_world: true, ..Self::of(topics) }
    }

    /// What is known under `key`; `read` is awaited only if it has to be. Failures are not kept.
    pub async fn get<E>(&self, state: &Studio, key: K, read: impl Future<Output = Result<V, E>>) -> Result<Arc<V>, E> {
        if let Some(found) = self.find(state.live(), state.engine(), &key) {
            return Ok(found);
        }
        let forgotten = self.forgotten.load(Ordering::Acquire);
        let (mark, turn) = (Mark::take(state.live()), self.turn(state.engine()));
        let value = Arc::new(read.await?);
        self.put(state.live(), key, forgotten, Entry { mark, turn, value: Arc::clone(&value) });
        Ok(value)
    }

    /// Forgets what is known under `key`, for changes that have no revision. Call it after the change.
    pub fn forget(&self, key: &K) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        self.forgotten.fetch_add(1, Ordering::Release);
        entries.remove(key);
    }

    fn find(&self, live: &Live, engine: &EngineHandle, key: &K) -> Option<Arc<V>> {
        let entry = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()?;
        let is_same_world = !self.sees_world || (entry.turn.is_some() && entry.turn == engine.turn());
        (is_same_world && entry.mark.holds(live, self.topics)).then(|| Arc::clone(&entry.value))
    }

    fn turn(&self, engine: &EngineHandle) -> Option<Turn> {
        if self.sees_world { engine.turn() } else { None }
    }

    fn put(&self, live: &Live, key: K, forgotten: u64, entry: Entry<V>) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if self.forgotten.load(Ordering::Acquire) != forgotten {
            return;
        }
        if entries.len() >= MOST {
            entries.retain(|_, entry| entry.mark.holds(live, self.topics));
        }
        // More than that in a second: all of them are read again sooner than need be.
        if entries.len() >= MOST {
            entries.clear();
        }
        entries.insert(key, Arc::new(entry));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn live_after(revision: i64, topics: &[Topic]) -> Live {
        let live = Live::starting_at(1);
        live.publish(revision, topics.iter().copied().collect::<BTreeSet<_>>());
        live
    }

    #[test]
    fn what_was_read_counts_until_its_topics_change() {
        let live = Live::starting_at(1);
        let mark = Mark::take(&live);
        assert!(mark.holds(&live, &[Topic::People]));
        live.publish(2, BTreeSet::from([Topic::Jobs]));
        assert!(mark.holds(&live, &[Topic::People]));
        live.publish(3, BTreeSet::from([Topic::People, Topic::History]));
        assert!(!mark.holds(&live, &[Topic::People]));
        // It does not count again when something else has changed since.
        live.publish(4, BTreeSet::from([Topic::Jobs]));
        assert!(!mark.holds(&live, &[Topic::People]));
    }

    #[test]
    fn what_another_process_changed_is_seen_with_the_next_revision_and_after_a_while() {
        let mark = Mark::take(&Live::starting_at(1));
        assert!(!mark.holds(&live_after(3, &[Topic::Jobs]), &[Topic::People]), "revision 2 is not ours");
        let live = Live::starting_at(1);
        let long_ago = clock::instant().checked_sub(2 * READ_AGAIN).expect("the machine runs for longer");
        let mark = Mark { at: long_ago, since: AtomicI64::new(1) };
        assert!(!mark.holds(&live, &[Topic::People]));
    }

    fn entry(live: &Live, value: u32) -> Entry<u32> {
        Entry { mark: Mark::take(live), turn: None, value: Arc::new(value) }
    }

    fn len(kept: &Kept<usize, u32>) -> usize {
        kept.entries.read().expect("not poisoned").len()
    }

    #[test]
    fn whoever_was_reading_what_is_forgotten_does_not_bring_it_back() {
        let (live, kept) = (Live::starting_at(1), Kept::of(&[Topic::People]));
        let before = kept.forgotten.load(Ordering::Relaxed);
        kept.put(&live, 1, before, entry(&live, 7));
        assert_eq!(len(&kept), 1);
        kept.forget(&1);
        assert_eq!(len(&kept), 0);
        kept.put(&live, 1, before, entry(&live, 7));
        assert_eq!(len(&kept), 0);
    }

    #[test]
    fn the_number_that_is_kept_is_bounded() {
        let (live, kept) = (Live::starting_at(1), Kept::of(&[Topic::People]));
        for key in 0..3 * MOST {
            kept.put(&live, key, 0, entry(&live, 0));
        }
        assert!(len(&kept) <= MOST);
    }
}
