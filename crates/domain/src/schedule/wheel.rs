//! The next firings of very many schedules, in order.
//!
//! Two ordered trees instead of a timing wheel with slots: every step is O(log n) at any spread of the
//! instants, ties are broken by id so that a replay gives the same order, and a million entries need no
//! tuning.

use std::collections::{BTreeMap, BTreeSet};

use crate::time::Timestamp;

/// An index of ids by the instant at which each is due next; every id has at most one.
#[derive(Clone, Debug)]
pub struct Wheel<Id> {
    by_instant: BTreeSet<(Timestamp, Id)>,
    by_id: BTreeMap<Id, Timestamp>,
}

impl<Id> Default for Wheel<Id> {
    fn default() -> Self {
        Self { by_instant: BTreeSet::new(), by_id: BTreeMap::new() }
    }
}

impl<Id: Ord + Clone> Wheel<Id> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many ids are in it.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether nothing will ever be due.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Sets when `id` is due next, in place of what it had; `None` takes it out. Gives what it had.
    pub fn set(&mut self, id: Id, at: Option<Timestamp>) -> Option<Timestamp> {
        let Some(at) = at else {
            return self.remove(&id);
        };
        let before = self.by_id.insert(id.clone(), at);
        if let Some(before) = before.filter(|before| *before != at) {
            self.by_instant.remove(&(before, id.clone()));
        }
        self.by_instant.insert((at, id));
        before
    }

    /// Takes `id` out. Gives what it had.
    pub fn remove(&mut self, id: &Id) -> Option<Timestamp> {
        let before = self.by_id.remove(id)?;
        self.by_instant.remove(&(before, id.clone()));
        Some(before)
    }

    /// When `id` is due next.
    pub fn at(&self, id: &Id) -> Option<Timestamp> {
        self.by_id.get(id).copied()
    }

    /// When the next of all is due: how long a loop may sleep.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.by_instant.first().map(|(at, _)| *at)
    }

    /// Takes out the earliest that is due at `now`, if any. Call it until it gives nothing, or so often as a
    /// batch allows: what is left stays due.
    pub fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, Id)> {
        if self.next_at()? > now {
            return None;
        }
        let (at, id) = self.by_instant.pop_first()?;
        self.by_id.remove(&id);
        Some((at, id))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(u8, Option<i64>),
        Remove(u8),
        Pop(i64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0u8..20, proptest::option::weighted(0.8, 0i64..50)).prop_map(|(id, at)| Step::Set(id, at)),
            (0u8..20).prop_map(Step::Remove),
            (0i64..50).prop_map(Step::Pop),
        ]
    }

    proptest! {
        /// Whatever is set, removed and taken in whatever order, the wheel answers as a scan of all entries
        /// would.
        #[test]
        fn the_wheel_equals_a_naive_scan(steps in proptest::collection::vec(step(), 0..200)) {
            let mut wheel = Wheel::new();
            let mut plain: Vec<(i64, u8)> = Vec::new();
            for step in steps {
                match step {
                    Step::Set(id, at) => {
                        let before = plain.iter().find(|(_, other)| *other == id).map(|(at, _)| Timestamp(*at));
                        plain.retain(|(_, other)| *other != id);
                        plain.extend(at.map(|at| (at, id)));
                        prop_assert_eq!(wheel.set(id, at.map(Timestamp)), before);
                    }
                    Step::Remove(id) => {
                        plain.retain(|(_, other)| *other != id);
                        wheel.remove(&id);
                    }
                    Step::Pop(now) => {
                        let expected = plain.iter().copied().filter(|(at, _)| *at <= now).min();
                        plain.retain(|entry| Some(*entry) != expected);
                        prop_assert_eq!(wheel.pop_due(Timestamp(now)), expected.map(|(at, id)| (Timestamp(at), id)));
                    }
                }
                prop_assert_eq!(wheel.len(), plain.len());
                prop_assert_eq!(wheel.next_at(), plain.iter().min().map(|(at, _)| Timestamp(*at)));
                for id in 0..20 {
                    let expected = plain.iter().find(|(_, other)| *other == id).map(|(at, _)| Timestamp(*at));
                    prop_assert_eq!(wheel.at(&id), expected);
                }
            }
        }
    }
}
