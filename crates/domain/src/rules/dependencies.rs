//! Dependencies: jobs that wait for the end of others, or for an environment. A job can only name jobs that
//! were there before it, so nobody ever waits for themselves, not even by a detour.

use crate::compute::JobId;
use crate::compute::job::{EndedAs, JobSpec, Verdict};
use crate::environment::EnvironmentHash;
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::text::{Problem, Text};
use crate::world::{Awaited, Waiter, World};

impl World {
    /// Refuses to wait for what nobody knows, and keeps of what is said about ended jobs only what is needed:
    /// jobs that are alive are waited for.
    pub(super) fn judge_after(&self, workspace: &WorkspaceId, spec: &JobSpec) -> Result<JobSpec, Reason> {
        let mut spec = spec.clone();
        for after in &mut spec.after {
            let is_alive = match Awaited::by(after) {
                Awaited::Job(id) => self.look_up(id).is_some_and(|job| job.workspace == *workspace),
                Awaited::Array(first) => self.arrays.get(&first).is_some_and(|array| array.workspace == *workspace),
                Awaited::Environment(_) => false,
            };
            if is_alive {
                after.ended = None;
            } else if after.ended.is_none() {
                let why = if after.job.0 > self.state.jobs {
                    "It does not exist yet; a job waits only for jobs that were submitted before it, so that none \
                     waits in a circle."
                } else {
                    "It is over, or does not exist."
                };
                let message = format!("{} cannot be waited for. {why}", after.job);
                return Err(Reason::invalid(Problem::new("after", message)));
            }
        }
        Ok(spec)
    }

    /// Tells those who wait for jobs that are over. Whoever wanted them to end well, and they did not, is
    /// over too.
    pub(super) fn settle_dependents(&mut self) {
        while let Some((over, how)) = self.awaited.pop() {
            let note = |spec: &mut JobSpec| {
                let named = spec.after.iter_mut().filter(|after| Awaited::by(after) == over);
                named.for_each(|after| after.ended = Some(how.clone()));
                if let Some(pinned) = spec.environment.as_mut()
                    && over == Awaited::Environment(pinned.hash)
                {
                    pinned.ended = Some(how.clone());
                }
            };
            for waiting in self.dependents.get(&over).cloned().unwrap_or_default() {
                match waiting {
                    Waiter::Job(id) => {
                        self.edit_job(id, |job| note(&mut job.spec));
                        self.judge_dependent(id);
                    }
                    Waiter::Array(first) => {
                        self.edit_array(first, |array| note(&mut array.spec));
                        self.judge_rest(first);
                    }
                }
            }
        }
    }

    /// The same for the jobs of an array that are not made yet.
    pub(super) fn judge_rest(&mut self, first: JobId) {
        let Some(array) = self.arrays.get(&first) else { return };
        if let Some(verdict) = never(&array.spec) {
            self.end_rest(first, &verdict);
        }
    }

    /// Ends a job that can never start because of another one.
    pub(super) fn judge_dependent(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        if let Some(verdict) = never(&job.spec) {
            self.end_job(id, verdict);
        }
    }

    /// Tells those who wait for an environment how its build ended.
    pub(super) fn environment_done(&mut self, hash: EnvironmentHash, failure: Option<&Text>) {
        let over = Awaited::Environment(hash);
        if self.dependents.contains_key(&over) {
            let how = failure.map_or(EndedAs::Succeeded, |what| EndedAs::Failed { what: what.clone() });
            self.awaited.push((over, how));
        }
    }
}

/// Why a job with these needs can never start, if what it waited for has not ended as it wanted.
pub(super) fn never(spec: &JobSpec) -> Option<Verdict> {
    let job = spec.after.iter().find_map(|after| Some((after.job, after.failure()?.clone())));
    if let Some((job, what)) = job {
        return Some(Verdict::DependencyFailed { job, what });
    }
    let pinned = spec.environment.as_deref()?;
    Some(Verdict::EnvironmentFailed { environment: pinned.to_string().into(), what: pinned.failure()?.clone() })
}
