//! Turns: who is held back, who is moved, and who lets others pass.

use std::borrow::Cow;

use crate::compute::JobId;
use crate::compute::job::{Held, Job, JobPhase, JobSpec, Lane, Moved, RANK_STEP};
use crate::compute::quota::Shortage;
use crate::compute::verb::JobVerb;
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::text::{MAX_WHY, Problem};
use crate::world::{About, Answer, Command, MoveTo, PoolKey, Running, World};

impl World {
    /// A job's owner has as much running as they may: their line is left out until that changes.
    pub(super) fn let_pass(&mut self, id: JobId, key: &PoolKey) {
        let Some(job) = self.jobs.get(&id) else { return };
        if *job.line() != job.owner {
            // It stands in somebody else's line, whom it must not hold up; nor must the rest of its array.
            let array = job.array.map(|place| place.first);
            let is_moved = |first: &JobId| self.arrays.get(first).is_some_and(|array| *array.line() != array.owner);
            if let Some(first) = array.filter(is_moved) {
                self.edit_array(first, |array| array.moved = None);
            }
            self.edit_job(id, |job| job.moved = None);
        } else if let Some(pool) = self.pools.get_mut(key) {
            pool.queue.park(job);
        }
    }

    /// A limit that a job would break even if nothing else of its owner ran.
    pub(super) fn above_limit(&self, workspace: &WorkspaceId, owner: &UserId, spec: &JobSpec) -> Option<Shortage> {
        self.run_limits(workspace, owner, |resource, limit, used| {
            let needed = Running::needed(spec).of(resource);
            (needed > limit).then(|| Shortage {
                resource: resource.clone(),
                is_personal: true,
                needed,
                used,
                limit,
                held_by: Vec::new(),
            })
        })
    }

    pub(super) fn hold_job(&mut self, command: &Command, id: JobId, why: &str) -> Result<Answer, Reason> {
        check_why(why)?;
        self.own_job(command, id, JobVerb::Hold)?;
        self.make_job(id);
        if self.jobs.get(&id).is_some_and(|job| job.held.is_some()) {
            return Ok(Answer::Already);
        }
        self.hold_back(id, Held { by: command.name.clone(), why: why.to_owned(), since: self.now.wall });
        Ok(Answer::Done)
    }

    pub(super) fn hold_back(&mut self, id: JobId, held: Held) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (workspace, nodes) = (job.workspace.clone(), job.own_nodes.clone());
        let reason = Reason::OnHold { by: held.by.clone(), why: held.why.clone() };
        for node in nodes {
            self.release(node, Reason::JobDone { job: id });
        }
        self.edit_job(id, |job| {
            job.held = Some(Box::new(held));
            job.own_nodes.clear();
            if let JobPhase::Queued { gathering, .. } = &mut job.phase {
                *gathering = None;
            }
        });
        self.decide(&workspace, About::Job(id), reason);
    }

    pub(super) fn release_job(&mut self, command: &Command, id: JobId) -> Result<Answer, Reason> {
        self.own_job(command, id, JobVerb::Release)?;
        self.make_job(id);
        if self.jobs.get(&id).is_none_or(|job| job.held.is_none()) {
            return Ok(Answer::Already);
        }
        self.edit_job(id, |job| job.held = None);
        self.decide(&command.workspace, About::Job(id), Reason::HoldOver { by: command.name.clone() });
        Ok(Answer::Done)
    }

    pub(super) fn move_job(
        &mut self,
        command: &Command,
        id: JobId,
        to: MoveTo,
        over_all: bool,
    ) -> Result<Answer, Reason> {
        self.own_job(command, id, JobVerb::Move)?;
        let Some(job) = self.look_up(id) else { return Err(Reason::IsOver { job: id }) };
        let moved = if over_all { self.place_over_all(&job, to)? } else { self.place_among_own(&job, to)? };
        self.make_job(id);
        self.edit_job(id, |job| job.moved = Some(Box::new(moved)));
        let to = said_move(to, over_all, "its owner’s jobs");
        self.decide(&command.workspace, About::Job(id), Reason::MovedInQueue { by: command.name.clone(), to });
        Ok(Answer::Done)
    }

    fn place_among_own(&self, job: &Job, to: MoveTo) -> Result<Moved, Reason> {
        let ends = self
            .pools
            .get(&PoolKey::of_job(job))
            .and_then(|pool| pool.queue.ends_of(Lane::Line, job.spec.priority, &job.owner));
        let rank = match to {
            // By one step only, so that where arrival decides nobody else is overtaken.
            MoveTo::Front => match ends {
                Some((first, _)) if first.job != job.id => first.rank.saturating_sub(1),
                _ => job.rank(),
            },
            MoveTo::Back => {
                let newest = i64::try_from(self.state.jobs).unwrap_or(i64::MAX).saturating_mul(RANK_STEP);
                ends.map_or(newest, |(_, last)| last.rank.max(newest)).saturating_add(1)
            }
            MoveTo::Before(other) => {
                let other = self.neighbour(job, other)?;
                if other.owner != job.owner || other.line() != &job.owner || other.lane() != Lane::Line {
                    let message =
                        format!("{} stands in another line; among one’s own jobs name one of those.", other.id);
                    return Err(Reason::invalid(Problem::new("before", message)));
                }
                self.rank_before(job, &other)?
            }
        };
        Ok(Moved { lane: Lane::Line, rank, line: None })
    }

    fn place_over_all(&self, job: &Job, to: MoveTo) -> Result<Moved, Reason> {
        let ends = |lane| self.pools.get(&PoolKey::of_job(job)).and_then(|pool| pool.queue.ends_of_lane(lane));
        Ok(match to {
            MoveTo::Front => {
                let rank = ends(Lane::Front).map_or(0, |(first, _)| first.rank.saturating_sub(RANK_STEP));
                Moved { lane: Lane::Front, rank, line: None }
            }
            MoveTo::Back => {
                let rank = ends(Lane::Back).map_or(0, |(_, last)| last.rank.saturating_add(RANK_STEP));
                Moved { lane: Lane::Back, rank, line: None }
            }
            MoveTo::Before(other) => {
                let other = self.neighbour(job, other)?;
                let line = Some(other.line().clone()).filter(|line| *line != job.owner);
                Moved { lane: other.lane(), rank: self.rank_before(job, &other)?, line }
            }
        })
    }

    /// A job that waits in the same queue with the same priority.
    pub(super) fn neighbour(&self, job: &Job, other: JobId) -> Result<Cow<'_, Job>, Reason> {
        let wrong = |message: String| Err(Reason::invalid(Problem::new("before", message)));
        if other == job.id {
            return wrong(format!("{other} cannot stand before itself."));
        }
        let found = self.look_up(other).filter(|other| other.workspace == job.workspace && other.is_queued());
        let Some(found) = found.filter(|other| PoolKey::of_job(other) == PoolKey::of_job(job)) else {
            return wrong(format!("{other} does not wait in the same queue."));
        };
        if found.lane() == Lane::Line && found.spec.priority != job.spec.priority {
            let (own, its) = (job.spec.priority.key(), found.spec.priority.key());
            return wrong(format!("{other} has the priority {its} and {} has {own}; change that first.", job.id));
        }
        Ok(found)
    }

    /// Halfway between a job and whoever stands before it.
    fn rank_before(&self, job: &Job, other: &Job) -> Result<i64, Reason> {
        let before = self.pools.get(&PoolKey::of_job(other)).and_then(|pool| pool.queue.before(other));
        if before.is_some_and(|before| before.job == job.id) {
            return Ok(job.rank());
        }
        let gap = before.map_or(RANK_STEP, |before| other.rank().saturating_sub(before.rank).min(RANK_STEP));
        if gap < 2 {
            let message =
                format!("No place is left right before {}. Move it to the front, or before another one.", other.id);
            return Err(Reason::invalid(Problem::new("before", message)));
        }
        Ok(other.rank().saturating_sub(gap / 2))
    }
}

/// Refuses a reason that is too long.
pub(super) fn check_why(why: &str) -> Result<(), Reason> {
    let count = why.chars().count();
    if count <= MAX_WHY {
        return Ok(());
    }
    let message = format!("Keep the reason under {MAX_WHY} characters; this has {count}.");
    Err(Reason::invalid(Problem::new("why", message)))
}

/// Where to, as the end of a sentence.
pub(super) fn said_move(to: MoveTo, over_all: bool, own: &str) -> String {
    let among = if over_all { "the queue" } else { own };
    match to {
        MoveTo::Front => format!("to the front of {among}"),
        MoveTo::Back => format!("to the back of {among}"),
        MoveTo::Before(other) => format!("before {other}"),
    }
}
