//! Arrays: what happens to all jobs of one at once, and when the whole of it is over.

use super::turns::{check_why, said_move};
use crate::compute::JobId;
use crate::compute::array::{Array, ArrayFailure};
use crate::compute::job::{EndedAs, Held, Job, JobState, Lane, Moved, Priority, RANK_STEP, Verdict};
use crate::reason::Reason;
use crate::text::{Problem, grouped};
use crate::world::{About, Answer, ArrayChange, Awaited, Command, EndedRest, MoveTo, PoolKey, World};

impl World {
    /// A job of an array is over.
    pub(super) fn member_over(&mut self, first: JobId, job: JobId, verdict: &Verdict) {
        let is_first_failure = self.arrays.get(&first).is_some_and(|array| array.failed.is_none())
            && JobState::of(verdict) != JobState::Completed;
        if is_first_failure {
            let what = verdict.phrase().into();
            self.note_array(first, |array| array.failed = Some(ArrayFailure { job, what }));
        }
        self.array_maybe_over(first);
    }

    /// Takes leave of an array of which nothing is left, and tells those who wait for the whole of it.
    fn array_maybe_over(&mut self, first: JobId) {
        let Some(array) = self.arrays.get(&first) else { return };
        if !array.rest.is_empty() || self.members.contains_key(&first) {
            return;
        }
        let how = match &array.failed {
            None => EndedAs::Succeeded,
            Some(ArrayFailure { job, what }) => {
                EndedAs::Failed { what: format!("is of an array in which {job} {what}").into() }
            }
        };
        self.remove_array(first);
        if self.dependents.contains_key(&Awaited::Array(first)) {
            self.awaited.push((Awaited::Array(first), how));
        }
    }

    /// Ends all jobs of an array that are not made yet, at once.
    pub(super) fn end_rest(&mut self, first: JobId, verdict: &Verdict) {
        let Some(array) = self.arrays.get(&first).filter(|array| !array.rest.is_empty()) else { return };
        let (workspace, at) = (array.workspace.clone(), self.now.wall);
        let ended: Vec<EndedRest> = array
            .rest
            .iter()
            .map(|stretch| {
                let first = array.job(stretch.from);
                EndedRest { first, count: stretch.count, verdict: verdict.clone(), at }
            })
            .collect();
        self.edit_array(first, |array| array.rest.clear());
        for rest in ended {
            let (from, to) = (rest.first.id, JobId(rest.first.id.0 + u64::from(rest.count)));
            let reason = Reason::RestEnded { count: u64::from(rest.count), what: verdict.phrase() };
            self.decide(&workspace, About::Job(from), reason);
            let waited_for = self.dependents.range(Awaited::Job(from)..Awaited::Job(to)).map(|(awaited, _)| *awaited);
            let waited_for: Vec<Awaited> = waited_for.collect();
            self.awaited.extend(waited_for.into_iter().map(|awaited| (awaited, EndedAs::of(verdict))));
            self.out.ended_rests.push(rest);
            if let Some(array) = self.arrays.get(&first)
                && array.failed.is_none()
            {
                let what = verdict.phrase().into();
                self.note_array(first, |array| array.failed = Some(ArrayFailure { job: from, what }));
            }
        }
        self.array_maybe_over(first);
    }

    /// The same for all arrays that wait for a compute.
    pub(super) fn end_rests(&mut self, key: &PoolKey, verdict: &Verdict) {
        for first in self.pools.get(key).map(|pool| pool.arrays.clone()).unwrap_or_default() {
            self.end_rest(first, verdict);
        }
    }

    /// The jobs of an array that are made and not over, in order.
    fn members_of(&self, first: JobId) -> Vec<JobId> {
        let is_member = |job: &Job| job.array.is_some_and(|place| place.first == first);
        self.jobs.range(first..).map_while(|(id, job)| is_member(job).then_some(*id)).collect()
    }

    pub(super) fn change_array(
        &mut self,
        command: &Command,
        first: JobId,
        change: &ArrayChange,
    ) -> Result<Answer, Reason> {
        // Arrays from before there were records of them have jobs alone.
        let all = self.members_of(first);
        let workspace = self.arrays.get(&first).map(|array| &array.workspace);
        let workspace = workspace.or_else(|| Some(&self.jobs.get(all.first()?)?.workspace));
        if workspace != Some(&command.workspace) {
            return Err(Reason::IsOver { job: first });
        }
        let waiting = || all.iter().copied().filter(|id| self.jobs.get(id).is_some_and(Job::is_queued));
        match change {
            ArrayChange::Cancel => {
                let verdict = Verdict::Canceled { by: command.name.clone() };
                // What is not made yet first, so that none of it starts in the place of one that was just
                // ended.
                self.end_rest(first, &verdict);
                all.into_iter().for_each(|id| self.end_job(id, verdict.clone()));
                Ok(Answer::Done)
            }
            ArrayChange::Hold { why } => {
                check_why(why)?;
                let held = Held { by: command.name.clone(), why: why.clone(), since: self.now.wall };
                let jobs: Vec<JobId> = waiting().filter(|id| self.is_held(*id) == Some(false)).collect();
                let has_rest = self.rest_of(first).is_some_and(|array| array.held.is_none());
                jobs.iter().for_each(|id| self.hold_back(*id, held.clone()));
                if has_rest {
                    let reason = Reason::OnHold { by: held.by.clone(), why: held.why.clone() };
                    self.decide(&command.workspace, About::Job(first), reason);
                    self.edit_array(first, |array| array.held = Some(Box::new(held)));
                }
                Ok(if jobs.is_empty() && !has_rest { Answer::Already } else { Answer::Done })
            }
            ArrayChange::Release => {
                let jobs: Vec<JobId> = waiting().filter(|id| self.is_held(*id) == Some(true)).collect();
                let has_rest = self.rest_of(first).is_some_and(|array| array.held.is_some());
                for id in &jobs {
                    self.edit_job(*id, |job| job.held = None);
                    self.decide(&command.workspace, About::Job(*id), Reason::HoldOver { by: command.name.clone() });
                }
                if has_rest {
                    self.edit_array(first, |array| array.held = None);
                    self.decide(&command.workspace, About::Job(first), Reason::HoldOver { by: command.name.clone() });
                }
                Ok(if jobs.is_empty() && !has_rest { Answer::Already } else { Answer::Done })
            }
            ArrayChange::Prioritise(priority) => {
                let jobs: Vec<JobId> = waiting().collect();
                self.none_waits(first, &jobs)?;
                jobs.into_iter().for_each(|id| self.set_priority(id, *priority));
                self.prioritise_rest(first, *priority);
                Ok(Answer::Done)
            }
            ArrayChange::Move { to, over_all } => {
                let jobs: Vec<JobId> = waiting().collect();
                self.none_waits(first, &jobs)?;
                self.move_array(command, first, &jobs, *to, *over_all)
            }
        }
    }

    fn rest_of(&self, first: JobId) -> Option<&Array> {
        self.arrays.get(&first).filter(|array| !array.rest.is_empty())
    }

    fn is_held(&self, id: JobId) -> Option<bool> {
        self.jobs.get(&id).map(|job| job.held.is_some())
    }

    fn none_waits(&self, first: JobId, waiting: &[JobId]) -> Result<(), Reason> {
        if waiting.is_empty() && self.rest_of(first).is_none() {
            let message = format!("No job of the array of {first} waits any more.");
            return Err(Reason::invalid(Problem::new("array", message)));
        }
        Ok(())
    }

    fn prioritise_rest(&mut self, first: JobId, priority: Priority) {
        if self.rest_of(first).is_some() {
            self.edit_array(first, |array| {
                array.spec.priority = priority;
                if array.moved.as_ref().is_some_and(|moved| moved.line.is_some()) {
                    array.moved = None;
                }
            });
        }
    }

    /// Moves all that wait; they stay in their order, one right behind the other.
    fn move_array(
        &mut self,
        command: &Command,
        first: JobId,
        waiting: &[JobId],
        to: MoveTo,
        over_all: bool,
    ) -> Result<Answer, Reason> {
        let one = waiting.first().copied().or_else(|| {
            let array = self.rest_of(first)?;
            Some(array.id(array.rest.first()?.from))
        });
        let Some(one) = one.and_then(|id| self.look_up(id)) else { return Err(Reason::IsOver { job: first }) };
        let count = i64::from(one.array.map_or(1, |place| place.count));
        let moved = self.place_of_all(&one, count, to, over_all)?;
        for id in waiting {
            let number = i64::try_from(id.0.saturating_sub(first.0)).unwrap_or_default();
            let own = Moved { rank: moved.rank.saturating_add(number), ..moved.clone() };
            self.edit_job(*id, |job| job.moved = Some(Box::new(own)));
        }
        if self.rest_of(first).is_some() {
            self.edit_array(first, |array| array.moved = Some(Box::new(moved)));
        }
        let to = said_move(to, over_all, "their owner’s jobs");
        self.decide(&command.workspace, About::Job(first), Reason::MovedInQueue { by: command.name.clone(), to });
        Ok(Answer::Done)
    }

    /// Where number 0 stands if so many are to stand right behind it.
    fn place_of_all(&self, one: &Job, count: i64, to: MoveTo, over_all: bool) -> Result<Moved, Reason> {
        let queue = self.pools.get(&PoolKey::of_job(one)).map(|pool| &pool.queue);
        let in_line = queue.and_then(|queue| queue.ends_of(Lane::Line, one.spec.priority, &one.owner));
        let in_lane = |lane| queue.and_then(|queue| queue.ends_of_lane(lane));
        let (lane, rank, line) = match to {
            MoveTo::Front if over_all => {
                (Lane::Front, in_lane(Lane::Front).map_or(0, |(first, _)| first.rank.saturating_sub(RANK_STEP)), None)
            }
            MoveTo::Back if over_all => {
                (Lane::Back, in_lane(Lane::Back).map_or(0, |(_, last)| last.rank.saturating_add(RANK_STEP)), None)
            }
            MoveTo::Front => {
                (Lane::Line, in_line.map_or(one.rank(), |(first, _)| first.rank.saturating_sub(count)), None)
            }
            MoveTo::Back => {
                let newest = i64::try_from(self.state.jobs).unwrap_or(i64::MAX).saturating_mul(RANK_STEP);
                (Lane::Line, in_line.map_or(newest, |(_, last)| last.rank.max(newest)).saturating_add(1), None)
            }
            MoveTo::Before(other) => {
                let other = self.neighbour(one, other)?;
                let wrong = |message: String| Err(Reason::invalid(Problem::new("before", message)));
                if other.array.is_some_and(|place| Some(place.first) == one.array.map(|own| own.first)) {
                    return wrong(format!("{} is of the same array.", other.id));
                }
                let is_own = other.owner == one.owner && *other.line() == one.owner && other.lane() == Lane::Line;
                if !over_all && !is_own {
                    return wrong(format!(
                        "{} stands in another line; among one’s own jobs name one of those.",
                        other.id
                    ));
                }
                let before = queue.and_then(|queue| queue.before(&other));
                let gap = before.map_or(RANK_STEP, |before| other.rank().saturating_sub(before.rank));
                if gap <= count {
                    return wrong(format!(
                        "There is no place for {} jobs right before {}. Move them to the front, or before another one.",
                        grouped(u32::try_from(count).unwrap_or(u32::MAX)),
                        other.id
                    ));
                }
                let line = Some(other.line().clone()).filter(|line| *line != one.owner);
                (other.lane(), other.rank().saturating_sub(count), line)
            }
        };
        Ok(Moved { lane, rank, line })
    }
}
