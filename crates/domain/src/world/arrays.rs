//! Arrays in the World: what of them is not made yet, and how a job of them is made.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Due, Key, MADE_AT_ONCE, PoolKey, World};
use crate::compute::JobId;
use crate::compute::array::Array;
use crate::compute::job::{After, Job, JobSpec, Verdict};
use crate::environment::EnvironmentHash;
use crate::id::UserId;
use crate::time::Timestamp;

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    Job(JobId),
    /// A whole array, by its first job.
    Array(JobId),
    /// An environment that is being built.
    Environment(EnvironmentHash),
}

impl Awaited {
    /// All that a job with these needs waits for.
    pub fn all_of(spec: &JobSpec) -> Vec<Self> {
        let jobs = spec.after.iter().filter(|after| after.ended.is_none()).map(Self::by);
        jobs.chain(spec.awaited_environment().map(|pinned| Self::Environment(pinned.hash))).collect()
    }

    /// What is waited for.
    pub const fn by(after: &After) -> Self {
        if after.needs.is_of_array() { Self::Array(after.job) } else { Self::Job(after.job) }
    }
}

/// Who waits for the end of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiter {
    Job(JobId),
    /// All jobs of an array that are not made yet.
    Array(JobId),
}

/// Jobs of an array that are over without ever having been made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedRest {
    /// The first of them, as it was. The others follow one by one.
    pub first: Job,
    pub count: u32,
    pub verdict: Verdict,
    pub at: Timestamp,
}

impl EndedRest {
    /// One of them, as it was.
    pub fn job(&self, id: JobId) -> Option<Job> {
        let ahead = u32::try_from(id.0.checked_sub(self.first.id.0)?).ok().filter(|ahead| *ahead < self.count)?;
        Some(self.first.ahead_in_array(ahead))
    }
}

impl Job {
    /// The one so many numbers further in the same array, if both are as they were submitted.
    #[must_use]
    pub fn ahead_in_array(&self, ahead: u32) -> Self {
        let mut job = self.clone();
        job.id = JobId(self.id.0 + u64::from(ahead));
        if let Some(place) = &mut job.array {
            place.index += ahead;
        }
        if let Some(moved) = &mut job.moved {
            moved.rank = moved.rank.saturating_add(i64::from(ahead));
        }
        job
    }
}

pub(super) fn stop_waiting(dependents: &mut BTreeMap<Awaited, BTreeSet<Waiter>>, awaited: Awaited, waiter: Waiter) {
    if let Some(waiting) = dependents.get_mut(&awaited) {
        waiting.remove(&waiter);
        if waiting.is_empty() {
            dependents.remove(&awaited);
        }
    }
}

impl World {
    /// An array of which not all is over, by its first job.
    pub fn array(&self, first: JobId) -> Option<&Array> {
        self.arrays.get(&first)
    }

    /// All arrays of which not all is over.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.arrays.values()
    }

    /// How many jobs are not made yet.
    pub fn unmade(&self) -> u64 {
        self.pools.values().map(|pool| pool.unmade).sum()
    }

    /// The array that a job belongs to.
    pub fn array_of(&self, id: JobId) -> Option<&Array> {
        self.arrays.range(..=id).next_back().map(|(_, array)| array).filter(|array| array.has(id))
    }

    /// A job that is not over, made or not.
    pub fn look_up(&self, id: JobId) -> Option<Cow<'_, Job>> {
        if let Some(job) = self.jobs.get(&id) {
            return Some(Cow::Borrowed(job));
        }
        let array = self.array_of(id).filter(|array| array.is_unmade(id))?;
        Some(Cow::Owned(array.job(array.number(id)?)))
    }

    /// What a job needs that is not over, made or not.
    pub(crate) fn spec_of(&self, id: JobId) -> Option<&JobSpec> {
        match self.jobs.get(&id) {
            Some(job) => Some(&job.spec),
            None => self.array_of(id).map(|array| &array.spec),
        }
    }

    /// Whose a job is that is not over, made or not.
    pub fn owner_of(&self, id: JobId) -> Option<&UserId> {
        match self.jobs.get(&id) {
            Some(job) => Some(&job.owner),
            None => self.array_of(id).filter(|array| array.is_unmade(id)).map(|array| &array.owner),
        }
    }

    /// Whether a job is not over, made or not.
    pub fn is_alive(&self, id: JobId) -> bool {
        self.jobs.contains_key(&id) || self.array_of(id).is_some_and(|array| array.is_unmade(id))
    }

    /// Makes arrays of more than so many jobs little by little. For tests: what comes of it is the same.
    pub const fn make_at_once(&mut self, most: u32) {
        self.made_at_once = Some(most);
    }

    pub(crate) fn made_at_once(&self) -> u32 {
        self.made_at_once.unwrap_or(MADE_AT_ONCE)
    }

    /// Makes a job of an array, if it is not made yet. Nothing else changes by that.
    pub(crate) fn make_job(&mut self, id: JobId) {
        if self.jobs.contains_key(&id) {
            return;
        }
        let Some(first) = self.array_of(id).map(|array| array.first) else { return };
        let Some(array) = self.arrays.get_mut(&first) else { return };
        let Some(number) = array.number(id) else { return };
        let before = array.deadline();
        if !array.take(number) {
            return;
        }
        let job = array.job(number);
        if let Some(pool) = self.pools.get_mut(&PoolKey::of_array(array)) {
            pool.make(&job, array);
        }
        if array.rest.is_empty() {
            for other in Awaited::all_of(&array.spec) {
                stop_waiting(&mut self.dependents, other, Waiter::Array(first));
            }
            if let Some(at) = before {
                self.deadlines.remove(&(at, Due::Array(first)));
            }
        }
        for other in Awaited::all_of(&job.spec) {
            self.dependents.entry(other).or_default().insert(Waiter::Job(id));
        }
        self.deadlines.extend(job.deadline().map(|at| (at, Due::Job(id))));
        *self.members.entry(first).or_default() += 1;
        self.jobs.insert(id, job);
        self.changed(Key::Job(id));
        self.changed(Key::Array(first));
    }

    fn index_array(&mut self, first: JobId) {
        let Some(array) = self.arrays.get(&first).filter(|array| !array.rest.is_empty()) else { return };
        let (key, deadline) = (PoolKey::of_array(array), array.deadline());
        let share = if array.is_eligible() { self.fair_share_key(&array.workspace, array.line()) } else { 0 };
        let line = array.is_eligible().then(|| (array.workspace.clone(), array.line().clone()));
        for other in Awaited::all_of(&array.spec) {
            self.dependents.entry(other).or_default().insert(Waiter::Array(first));
        }
        self.pool_mut(&key);
        if let (Some(pool), Some(array)) = (self.pools.get_mut(&key), self.arrays.get(&first)) {
            pool.add_rest(array, share);
        }
        if let Some((workspace, person)) = line {
            self.note_line(&workspace, &person, &key);
        }
        self.deadlines.extend(deadline.map(|at| (at, Due::Array(first))));
        self.dirty.insert(key);
    }

    fn unindex_array(&mut self, first: JobId) {
        let Some(array) = self.arrays.get(&first).filter(|array| !array.rest.is_empty()) else { return };
        let (key, deadline) = (PoolKey::of_array(array), array.deadline());
        let line = array.is_eligible().then(|| (array.workspace.clone(), array.line().clone()));
        if let Some(pool) = self.pools.get_mut(&key) {
            pool.remove_rest(array);
        }
        for other in Awaited::all_of(&array.spec) {
            stop_waiting(&mut self.dependents, other, Waiter::Array(first));
        }
        if let Some((workspace, person)) = line {
            self.note_line(&workspace, &person, &key);
        }
        if let Some(at) = deadline {
            self.deadlines.remove(&(at, Due::Array(first)));
        }
        self.dirty.insert(key);
    }

    pub(crate) fn insert_array(&mut self, array: Array) {
        let first = array.first;
        self.arrays.insert(first, array);
        self.index_array(first);
        self.changed(Key::Array(first));
    }

    /// Changes what is not made yet.
    pub(crate) fn edit_array<T>(&mut self, first: JobId, change: impl FnOnce(&mut Array) -> T) -> Option<T> {
        self.unindex_array(first);
        let array = self.arrays.get_mut(&first)?;
        let result = change(array);
        let key = PoolKey::of_array(array);
        self.index_array(first);
        self.drop_pool_if_empty(&key);
        self.changed(Key::Array(first));
        Some(result)
    }

    /// Changes what no index depends on.
    pub(crate) fn note_array(&mut self, first: JobId, change: impl FnOnce(&mut Array)) {
        if let Some(array) = self.arrays.get_mut(&first) {
            change(array);
            self.changed(Key::Array(first));
        }
    }

    pub(crate) fn remove_array(&mut self, first: JobId) {
        self.unindex_array(first);
        if let Some(array) = self.arrays.remove(&first) {
            self.drop_pool_if_empty(&PoolKey::of_array(&array));
            self.gone(Key::Array(first));
        }
    }
}
