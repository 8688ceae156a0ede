//! What is shown once on the next page, kept in memory between a form post and the page after it.
//!
//! It may hold a temporary password, so it is never written to disk; it is found by a random id in a cookie,
//! only by the page it is meant for, and it is gone after one look or ten minutes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use atelier_domain::Timestamp;
use atelier_domain::time::Span;

use crate::form::Flash;

/// How long a flash waits for its page.
const KEPT: Span = Span::minutes(10);

/// How many are kept at most; the oldest go first, so that posting forms in a loop cannot fill the memory.
const MOST: usize = 500;

/// How much they may hold together, in bytes: a form may have a long script in it.
const MOST_BYTES: usize = 64 << 20;

pub const COOKIE: &str = "atelier_flash";

/// The flashes that wait.
#[derive(Debug, Default)]
pub struct Flashes {
    waiting: Mutex<HashMap<String, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    path: String,
    until: Timestamp,
    size: usize,
    flash: Flash,
}

/// About how much a flash holds.
fn size(flash: &Flash) -> usize {
    flash.values.iter().map(|(name, values)| name.len() + values.iter().map(String::len).sum::<usize>()).sum()
}

impl Flashes {
    /// Keeps a flash for the page at `path` and gives its id.
    pub fn keep(&self, path: &str, flash: Flash, now: Timestamp) -> String {
        let id = atelier_studio::secret::random_token();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let size = size(&flash);
        let is_full = |waiting: &HashMap<String, Waiting>| {
            waiting.len() >= MOST || waiting.values().map(|entry| entry.size).sum::<usize>() + size > MOST_BYTES
        };
        if is_full(&waiting) {
            waiting.retain(|_, entry| entry.until > now);
        }
        while !waiting.is_empty() && is_full(&waiting) {
            // What holds a secret goes last: it cannot be shown again.
            let oldest = waiting
                .iter()
                .min_by_key(|(_, entry)| (entry.flash.secret.is_some(), entry.until))
                .map(|(id, _)| id.clone());
            oldest.and_then(|id| waiting.remove(&id));
        }
        waiting
            .insert(id.clone(), Waiting { path: without_query(path).to_owned(), until: now.plus(KEPT), size, flash });
        id
    }

    /// Takes the flash out, if it is meant for this page.
    pub fn take(&self, id: &str, path: &str, now: Timestamp) -> Option<Flash> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = waiting.get(id).is_some_and(|entry| entry.path == without_query(path) && entry.until > now);
        if fits { waiting.remove(id).map(|entry| entry.flash) } else { None }
    }
}

fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flash_is_shown_once_on_its_own_page_only() {
        let flashes = Flashes::default();
        let now = Timestamp(1_000);
        let flash = Flash { toast: Some("Saved".into()), ..Flash::default() };
        let id = flashes.keep("/profile?tab=1", flash.clone(), now);
        assert_eq!(flashes.take(&id, "/w/studio", now), None);
        assert_eq!(flashes.take("guess", "/profile", now), None);
        assert_eq!(flashes.take(&id, "/profile", now), Some(flash.clone()));
        assert_eq!(flashes.take(&id, "/profile", now), None);
        let id = flashes.keep("/profile", flash, now);
        assert_eq!(flashes.take(&id, "/profile", now.plus(KEPT)), None);
    }

    #[test]
    fn the_number_that_waits_is_bounded() {
        let flashes = Flashes::default();
        for i in 0..(MOST as i64 + 500) {
            flashes.keep("/", Flash::default(), Timestamp(i));
        }
        assert!(flashes.waiting.lock().expect("not poisoned").len() <= MOST);
    }
}
