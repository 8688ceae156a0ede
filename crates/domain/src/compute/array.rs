//! Arrays: many jobs that were submitted together and differ in their number alone.
//!
//! A large array is one record. Its jobs have their ids from the beginning, but a job is *made*, and costs
//! anything, only when something is to happen to it: it is first in its queue, or somebody names it. The
//! others are known all the same: each is what [`Array::job`] says.

use serde::{Deserialize, Serialize};

use super::ids::JobId;
use super::job::{After, ArrayPlace, Held, Hold, Job, JobPhase, JobSpec, Lane, Milestones, Moved, RANK_STEP};
use crate::id::{UserId, WorkspaceId};
use crate::text::Text;
use crate::time::{Mono, Timestamp};

/// The most jobs in one array: their places, one behind the other, must fit between two others.
pub const MAX_ARRAY: u32 = 1_000_000;
/// Arrays up to this size are made at once: what pages show of them is a row for each job.
pub const MADE_AT_ONCE: u32 = 256;

/// Jobs of an array, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The number of the first.
    pub from: u32,
    pub count: u32,
}

/// How the first job of an array that did not end well ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayFailure {
    pub job: JobId,
    /// How: the end of a sentence that starts with the job.
    pub what: Text,
}

/// An array of which not all is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Its first job, whose number is the array's name. The others follow one by one.
    pub first: JobId,
    /// How many there are.
    pub count: u32,
    pub workspace: WorkspaceId,
    pub owner: UserId,
    /// What each of its jobs needs.
    pub spec: JobSpec,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// The jobs that are not made yet, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<Stretch>,
    /// Who holds those back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Box<Held>>,
    /// Why those are not looked at before a certain time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Where somebody moved them to: the place of number 0. Each further one stands right behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<Moved>>,
    /// How the first job that did not end well ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<ArrayFailure>,
}

impl Array {
    /// How many of its jobs are not made yet.
    pub fn unmade(&self) -> u64 {
        self.rest.iter().map(|stretch| u64::from(stretch.count)).sum()
    }

    /// Whether that is one of its jobs.
    pub fn has(&self, id: JobId) -> bool {
        self.number(id).is_some()
    }

    /// The number of a job within it.
    pub fn number(&self, id: JobId) -> Option<u32> {
        let number = u32::try_from(id.0.checked_sub(self.first.0)?).ok()?;
        (number < self.count).then_some(number)
    }

    /// The id of a job of it.
    pub const fn id(&self, number: u32) -> JobId {
        JobId(self.first.0 + number as u64)
    }

    /// Whether that job is not made yet.
    pub fn is_unmade(&self, id: JobId) -> bool {
        self.number(id).is_some_and(|number| self.stretch_of(number).is_some())
    }

    fn stretch_of(&self, number: u32) -> Option<usize> {
        let index = self.rest.partition_point(|stretch| stretch.from <= number).checked_sub(1)?;
        let stretch = self.rest.get(index)?;
        (number - stretch.from < stretch.count).then_some(index)
    }

    /// Takes one out of those that are not made yet. False if it is not among them.
    pub fn take(&mut self, number: u32) -> bool {
        let Some(index) = self.stretch_of(number) else { return false };
        let whole = self.rest.remove(index);
        let parts = [
            Stretch { from: whole.from, count: number - whole.from },
            Stretch { from: number + 1, count: whole.from + whole.count - number - 1 },
        ];
        let parts = parts.into_iter().filter(|part| part.count > 0);
        self.rest.splice(index..index, parts);
        true
    }

    /// The jobs that those which are not made yet wait for.
    pub fn waits_for(&self) -> impl Iterator<Item = &After> {
        self.spec.after.iter().filter(|after| after.ended.is_none())
    }

    /// Whether those that are not made yet wait for nodes.
    pub fn is_eligible(&self) -> bool {
        let is_free = self.held.is_none() && self.hold.is_none();
        is_free && self.waits_for().next().is_none() && self.spec.awaited_environment().is_none()
    }

    /// When they are looked at again.
    pub fn deadline(&self) -> Option<Mono> {
        self.hold.as_ref().filter(|_| !self.rest.is_empty()).map(Hold::until)
    }

    /// In which lane of the queue those stand that are not made yet.
    pub fn lane(&self) -> Lane {
        self.moved.as_ref().map_or(Lane::Line, |moved| moved.lane)
    }

    pub fn line(&self) -> &UserId {
        self.moved.as_ref().and_then(|moved| moved.line.as_ref()).unwrap_or(&self.owner)
    }

    /// The place of number 0, and how far each stands from the one before it.
    pub fn ranks(&self) -> (i64, i64) {
        match &self.moved {
            Some(moved) => (moved.rank, 1),
            None => (i64::try_from(self.first.0).unwrap_or(i64::MAX).saturating_mul(RANK_STEP), RANK_STEP),
        }
    }

    /// The job of that number, as it is before anything has happened to it.
    pub fn job(&self, number: u32) -> Job {
        let moved = self.moved.as_ref().map(|moved| {
            let rank = moved.rank.saturating_add(i64::from(number));
            Box::new(Moved { rank, ..(**moved).clone() })
        });
        Job {
            id: self.id(number),
            workspace: self.workspace.clone(),
            owner: self.owner.clone(),
            spec: self.spec.clone(),
            phase: JobPhase::Queued { hold: self.hold.clone(), gathering: None },
            submitted: self.submitted,
            attempt: 0,
            retries: 0,
            steps_aside: 0,
            allocations: Vec::new(),
            own_nodes: Vec::new(),
            launch_failures: 0,
            lost_starts: 0,
            array: Some(ArrayPlace { first: self.first, index: number, count: self.count }),
            ahead: None,
            held: self.held.clone(),
            moved,
            metered: None,
            when: Milestones::default(),
            past: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::ClusterId;
    use crate::compute::job::Target;
    use crate::compute::resources::Resources;
    use crate::time::Span;

    fn array(count: u32) -> Array {
        let spec = JobSpec {
            target: Target::Cluster(ClusterId(1)),
            shape: Resources { cores: 1_000, memory: 1, gpus: 0 },
            nodes: 1,
            priority: crate::compute::job::Priority::Medium,
            timeout: None,
            grace: Span::ZERO,
            retry: None,
            tier: crate::compute::size::Tier::Dedicated,
            after: Vec::new(),
            environment: None,
        };
        Array {
            first: JobId(11),
            count,
            workspace: WorkspaceId::new("w"),
            owner: UserId::new("ann"),
            spec,
            submitted: Timestamp(0),
            rest: vec![Stretch { from: 0, count }],
            held: None,
            hold: None,
            moved: None,
            failed: None,
        }
    }

    #[test]
    fn what_is_taken_out_leaves_two_stretches_or_fewer() {
        let mut it = array(10);
        assert!(it.take(0) && it.take(9) && it.take(4) && !it.take(4) && !it.take(10));
        assert_eq!(it.rest, [Stretch { from: 1, count: 3 }, Stretch { from: 5, count: 4 }]);
        assert_eq!((it.unmade(), it.is_unmade(JobId(15)), it.is_unmade(JobId(16))), (7, false, true));
        for number in 0..10 {
            it.take(number);
        }
        assert!(it.rest.is_empty());
    }

    #[test]
    fn jobs_stand_where_they_would_have_been_submitted_and_in_order_when_moved() {
        let mut it = array(3);
        assert_eq!(it.job(2).rank(), 13 * RANK_STEP);
        assert_eq!(it.ranks(), (11 * RANK_STEP, RANK_STEP));
        it.moved = Some(Box::new(Moved { lane: Lane::Front, rank: -7, line: None }));
        assert_eq!((it.job(0).rank(), it.job(2).rank(), it.ranks()), (-7, -5, (-7, 1)));
    }

    #[test]
    fn a_whole_array_fits_between_two_jobs_that_came_one_after_the_other() {
        assert!(i64::from(MAX_ARRAY) < RANK_STEP);
    }
}
