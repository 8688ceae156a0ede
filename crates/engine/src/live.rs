//! Telling live pages that something changed, and cutting off people who may no longer look.
//!
//! Only revisions travel, never data: a page that hears of a new revision fetches what it shows with its own
//! rights. So a lost message costs a little time and nothing else, and a page that was away asks from where
//! it left off.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use atelier_domain::UserId;
use atelier_domain::history::Topic;
use tokio::sync::{broadcast, watch};

/// How many revisions are remembered with their topics; a page that was away for longer is told to refresh
/// anyway.
const REMEMBERED: usize = 4_096;

/// The hub that the store publishes to and that streams listen to.
#[derive(Clone, Debug)]
pub struct Live {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    recent: Mutex<VecDeque<(i64, Vec<Topic>)>>,
    newest: watch::Sender<i64>,
    is_stopping: watch::Sender<bool>,
    cut: broadcast::Sender<Cut>,
}

/// Whose streams end at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// All of a person's.
    Person(UserId),
    /// All of a person's but those of one session, which goes on.
    PersonExcept(UserId, atelier_domain::SessionKey),
    /// A person's rights changed: their streams begin anew and are judged again.
    Rights(UserId),
    /// Those of one session.
    Session(atelier_domain::SessionKey),
    /// Everybody's: the server stops.
    All,
}

impl Live {
    /// A hub that starts at the store's present revision.
    pub fn starting_at(revision: i64) -> Self {
        let inner = Inner {
            recent: Mutex::default(),
            newest: watch::Sender::new(revision),
            is_stopping: watch::Sender::new(false),
            cut: broadcast::Sender::new(256),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Says that a revision with these topics is durable.
    pub fn publish(&self, revision: i64, topics: BTreeSet<Topic>) {
        let mut recent = self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back((revision, topics.into_iter().collect()));
        if recent.len() > REMEMBERED {
            recent.pop_front();
        }
        drop(recent);
        self.inner.newest.send_if_modified(|newest| {
            let is_newer = revision > *newest;
            *newest = revision.max(*newest);
            is_newer
        });
    }

    /// The newest revision that was published.
    pub fn newest(&self) -> i64 {
        *self.inner.newest.borrow()
    }

    /// Wakes on every new revision.
    pub fn watch(&self) -> watch::Receiver<i64> {
        self.inner.newest.subscribe()
    }

    /// Which of `wanted` changed after `since`. All of them if that is longer ago than we remember.
    pub fn changed_since(&self, since: i64, wanted: &[Topic]) -> Vec<Topic> {
        let newest = self.newest();
        if newest == since {
            return Vec::new();
        }
        let recent = self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner);
        // Revisions are counted without a gap. If we did not see each one since, another process made some,
        // or it is too long ago, or the page knows more than we do (a restored backup): then everything
        // counts as changed.
        let seen = recent.iter().rev().take_while(|(revision, _)| *revision > since).count();
        if i64::try_from(seen) != Ok(newest - since) {
            return wanted.to_vec();
        }
        let changed: BTreeSet<Topic> = recent
            .iter()
            .rev()
            .take_while(|(revision, _)| *revision > since)
            .flat_map(|(_, topics)| topics.iter().copied())
            .collect();
        wanted.iter().copied().filter(|topic| changed.contains(topic)).collect()
    }

    /// Whether what was read when `since` was the newest revision may be different by now. Unlike a page,
    /// which names what it shows, whoever remembers something has to count changes without a topic too: a
    /// bell that was read, a setting that no list shows.
    pub fn has_changed(&self, since: i64, topics: &[Topic]) -> bool {
        let newest = self.newest();
        if newest == since {
            return false;
        }
        let recent = self.inner.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = 0;
        for (_, changed) in recent.iter().rev().take_while(|(revision, _)| *revision > since) {
            if changed.is_empty() || changed.iter().any(|topic| topics.contains(topic)) {
                return true;
            }
            seen += 1;
        }
        // A gap is a change of another process, or one that is forgotten.
        seen != newest - since
    }

    /// Ends streams at once.
    pub fn cut(&self, whom: Cut) {
        if whom == Cut::All {
            self.inner.is_stopping.send_replace(true);
        }
        // An error only says that nobody listens.
        let _ = self.inner.cut.send(whom);
    }

    /// Hears whose streams end.
    pub fn cuts(&self) -> broadcast::Receiver<Cut> {
        self.inner.cut.subscribe()
    }

    /// Whether everybody's streams were ended, also of those who came after.
    pub fn is_stopping(&self) -> bool {
        *self.inner.is_stopping.borrow()
    }

    /// Waits until everybody's streams end.
    pub fn stops(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut told, hub) = (self.inner.is_stopping.subscribe(), self.clone());
        async move {
            // The sender lives as long as the hub that is held here.
            let _ = told.wait_for(|is_stopping| *is_stopping).await;
            drop(hub);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics(list: &[Topic]) -> BTreeSet<Topic> {
        list.iter().copied().collect()
    }

    #[test]
    fn a_page_hears_only_of_its_own_topics() {
        let live = Live::starting_at(10);
        live.publish(11, topics(&[Topic::History]));
        live.publish(12, topics(&[Topic::People, Topic::History]));
        assert_eq!(live.changed_since(10, &[Topic::People]), [Topic::People]);
        assert_eq!(live.changed_since(12, &[Topic::People]), []);
        assert_eq!(live.newest(), 12);
        live.publish(13, topics(&[Topic::History]));
        assert_eq!(live.changed_since(12, &[Topic::People]), []);
    }

    #[test]
    fn what_is_remembered_counts_until_a_change_of_its_topic_or_of_none() {
        let live = Live::starting_at(10);
        live.publish(11, topics(&[Topic::Jobs]));
        assert!(!live.has_changed(10, &[Topic::People, Topic::History]));
        live.publish(12, topics(&[Topic::Jobs, Topic::History]));
        assert!(live.has_changed(11, &[Topic::People, Topic::History]));
        assert!(!live.has_changed(12, &[Topic::People]));
        live.publish(13, BTreeSet::new());
        assert!(live.has_changed(12, &[Topic::People]), "it may be about anything");
        live.publish(15, topics(&[Topic::Jobs]));
        assert!(live.has_changed(13, &[Topic::People]), "another process made the one between");
        assert!(live.has_changed(99, &[Topic::People]), "a restored backup");
        assert!(Live::starting_at(50).has_changed(40, &[Topic::People]), "before the start");
    }

    #[test]
    fn a_page_that_was_away_too_long_is_told_everything() {
        let live = Live::starting_at(0);
        for revision in 1..=(REMEMBERED as i64 + 10) {
            live.publish(revision, topics(&[Topic::History]));
        }
        assert_eq!(live.changed_since(1, &[Topic::People]), [Topic::People]);
        assert_eq!(live.changed_since(REMEMBERED as i64, &[Topic::People]), []);
    }

    #[test]
    fn after_a_restart_the_past_counts_as_changed() {
        let live = Live::starting_at(50);
        assert_eq!(live.changed_since(40, &[Topic::People]), [Topic::People]);
        assert_eq!(live.changed_since(50, &[Topic::People]), []);
    }

    #[test]
    fn what_another_process_changed_counts_as_everything() {
        let live = Live::starting_at(5);
        live.publish(6, topics(&[Topic::History]));
        live.publish(8, topics(&[Topic::History]));
        assert_eq!(live.changed_since(5, &[Topic::People]), [Topic::People]);
        assert_eq!(live.changed_since(7, &[Topic::People]), []);
        assert_eq!(live.changed_since(99, &[Topic::People]), [Topic::People]);
    }
}
