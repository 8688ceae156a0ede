//! Places of which everybody may hold a few at once: requests that wait, streams, connections.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many places each has taken. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Seats<K>(Arc<Mutex<HashMap<K, usize>>>);

impl<K> Default for Seats<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub struct Seat<K: Eq + Hash> {
    seats: Seats<K>,
    key: K,
}

impl<K> Seats<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash> Seats<K> {
    /// One more place; none for who has `most` already.
    pub fn take(&self, key: &K, most: usize) -> Option<Seat<K>> {
        let mut taken = self.lock();
        let count = taken.entry(key.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Seat { seats: self.clone(), key: key.clone() })
    }

    pub fn taken(&self, key: &K) -> usize {
        self.lock().get(key).copied().unwrap_or_default()
    }
}

impl<K: Eq + Hash> Drop for Seat<K> {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_more_places_than_they_may_and_others_have_theirs() {
        let all: Seats<&str> = Seats::default();
        let mut seats: Vec<Seat<&str>> = (0..3).filter_map(|_| all.take(&"mara", 3)).collect();
        assert_eq!((seats.len(), all.taken(&"mara")), (3, 3));
        assert!(all.take(&"mara", 3).is_none() && all.take(&"sven", 3).is_some());
        seats.pop();
        assert!(all.take(&"mara", 3).is_some(), "a place that was given back");
        seats.clear();
        assert!(all.lock().is_empty());
    }
}
