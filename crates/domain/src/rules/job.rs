//! Jobs: from being handed over to being over. A job is over only when nothing of it is left on any node.

use crate::compute::JobId;
use crate::compute::cluster::ClusterPhase;
use crate::compute::instance::Wish;
use crate::compute::job::{
    Ahead, AllocationState, EndedAs, FINALIZE_LIMIT, FREE_RETURNS, Hold, Job, JobPhase, JobState, KILL_LIMIT,
    PastAttempt, REMEMBERED_ATTEMPTS, RETRY_PAUSE_MOST, STEP_ASIDE, Target, Verdict,
};
use crate::reason::Reason;
use crate::text::Text;
use crate::time::Span;
use crate::world::{About, AllocationKey, Awaited, EndedJob, Exit, Key, Lack, PoolKey, World};

impl World {
    /// Whether the part belongs to the attempt that runs now and is not over.
    fn is_current(&self, part: AllocationKey) -> bool {
        self.jobs.get(&part.job).is_some_and(|job| {
            job.attempt == part.attempt
                && job
                    .allocations
                    .iter()
                    .any(|allocation| allocation.node == part.node && allocation.state != AllocationState::Off)
        })
    }

    pub(super) fn job_started(&mut self, part: AllocationKey) {
        if !self.is_current(part) {
            return;
        }
        let (now, wall) = (self.now.mono, self.now.wall);
        self.edit_job(part.job, |job| {
            if let Some(allocation) = job.allocation_mut(part.node)
                && allocation.state == AllocationState::Assigned
            {
                allocation.state = AllocationState::Running;
            }
            let all_run = job.allocations.iter().all(|allocation| allocation.state != AllocationState::Assigned);
            if all_run && matches!(job.phase, JobPhase::Starting { .. }) {
                job.phase = JobPhase::Running { since: now };
                job.when.started = Some(wall);
            }
        });
    }

    pub(super) fn job_refused(&mut self, part: AllocationKey, detail: &Text) {
        if !self.is_current(part) {
            return;
        }
        let detail = crate::text::shortened_to(detail, 300).into();
        self.end_job(part.job, Verdict::StartFailed { detail });
        self.allocation_off(part.job, part.node);
    }

    pub(super) fn job_exited(&mut self, part: AllocationKey, exit: Exit) {
        if !self.is_current(part) {
            return;
        }
        let (now, wall) = (self.now.mono, self.now.wall);
        self.edit_job(part.job, |job| {
            if let Some(allocation) = job.allocation_mut(part.node) {
                allocation.state = AllocationState::Exited;
            }
            // One that was over before anybody could say that it ran has run all the same.
            job.when.started.get_or_insert(wall);
            let all_done = job
                .allocations
                .iter()
                .all(|allocation| matches!(allocation.state, AllocationState::Exited | AllocationState::Off));
            let is_going = matches!(job.phase, JobPhase::Starting { .. } | JobPhase::Running { .. });
            if exit == Exit::Code(0) && all_done && is_going {
                job.phase = JobPhase::Finalizing { until: now.plus(FINALIZE_LIMIT) };
                job.when.ending.get_or_insert(wall);
            }
        });
        match exit {
            Exit::Code(0) => {}
            Exit::Code(code) => self.end_job(part.job, Verdict::Exited { code }),
            Exit::OutOfMemory => self.end_job(part.job, Verdict::OutOfMemory),
            Exit::TimedOut => {
                let limit = self.jobs.get(&part.job).and_then(|job| job.spec.timeout).unwrap_or_default();
                self.end_job(part.job, Verdict::TimedOut { limit });
            }
        }
    }

    pub(super) fn job_off(&mut self, part: AllocationKey, exit: Exit) {
        if !self.is_current(part) {
            return;
        }
        self.note_pace(part.job);
        // Said again, in case that report was lost. A second word that all is well changes nothing.
        let has_exited = self.jobs.get(&part.job).is_some_and(|job| {
            let mut own = job.allocations.iter().filter(|allocation| allocation.node == part.node);
            own.any(|allocation| allocation.state == AllocationState::Exited)
        });
        if !has_exited || exit != Exit::Code(0) {
            self.job_exited(part, exit);
        }
        self.allocation_off(part.job, part.node);
    }

    /// Sets out to end a job. What waits is over at once; what runs is over when its nodes confirm it.
    pub(super) fn end_job(&mut self, id: JobId, verdict: Verdict) {
        let (now, wall) = (self.now.mono, self.now.wall);
        let Some(job) = self.jobs.get(&id) else { return };
        match &job.phase {
            JobPhase::Queued { .. } => self.conclude(id, verdict, false),
            JobPhase::Ending { verdict: before, .. } => {
                // A cancel counts more than what would have been tried again; otherwise the first word
                // stands.
                let is_final = matches!(verdict, Verdict::Canceled { .. } | Verdict::ComputeGone { .. });
                let was_final = matches!(**before, Verdict::Canceled { .. } | Verdict::ComputeGone { .. });
                if is_final && !was_final && **before != Verdict::Succeeded {
                    self.edit_job(id, |job| {
                        if let JobPhase::Ending { verdict: old, .. } = &mut job.phase {
                            **old = verdict;
                        }
                    });
                }
            }
            JobPhase::Starting { .. } | JobPhase::Running { .. } | JobPhase::Finalizing { .. } => {
                let is_unused = matches!(job.phase, JobPhase::Starting { .. })
                    && job.allocations.iter().all(|allocation| allocation.state == AllocationState::Assigned);
                let until = now.plus(job.grace_for(&verdict)).plus(KILL_LIMIT);
                self.edit_job(id, |job| {
                    job.phase = JobPhase::Ending { verdict: Box::new(verdict), is_unused, until };
                    job.when.ending.get_or_insert(wall);
                });
                self.kick(Key::Job(id));
                self.job_maybe_over(id);
            }
        }
    }

    /// Concludes a job if nothing of it is left anywhere.
    pub(super) fn job_maybe_over(&mut self, id: JobId) {
        if self.has_allocations(id) {
            return;
        }
        let Some(job) = self.jobs.get(&id) else { return };
        match &job.phase {
            JobPhase::Ending { verdict, is_unused, .. } => {
                let (verdict, is_unused) = ((**verdict).clone(), *is_unused);
                self.conclude(id, verdict, is_unused);
            }
            JobPhase::Finalizing { .. } | JobPhase::Running { .. } | JobPhase::Starting { .. } => {
                self.conclude(id, Verdict::Succeeded, false);
            }
            JobPhase::Queued { .. } => {}
        }
    }

    /// An attempt is over: again, or for good.
    fn conclude(&mut self, id: JobId, verdict: Verdict, is_unused: bool) {
        let Some(job) = self.jobs.get(&id) else { return };
        let now = self.now;
        let workspace = job.workspace.clone();
        let own_nodes = job.own_nodes.clone();
        for node in own_nodes {
            self.release(node, Reason::JobDone { job: id });
        }
        let Some(job) = self.jobs.get(&id) else { return };
        // Lost before it ran is nobody's fault; three times is no accident.
        let is_lost = is_unused && matches!(verdict, Verdict::NodeLost { .. }) && job.lost_starts < FREE_RETURNS;
        // Whoever was taken the node from goes on another one, as often as it takes.
        let returns = is_lost || matches!(verdict, Verdict::Preempted { .. });
        let has_target = self.has_target(job);
        let returns = returns && has_target;
        let retries =
            !returns && has_target && job.spec.retry.as_ref().is_some_and(|retry| retry.allows(&verdict, job.retries));
        if returns || retries {
            let first = job.spec.retry.as_ref().map_or(Span::ZERO, |retry| retry.pause);
            let pause = if returns { Span::ZERO } else { first.doubled(job.retries, RETRY_PAUSE_MOST) };
            let reason = Reason::AttemptEnded { what: verdict.phrase(), attempt: job.attempt, pause };
            let hold = Hold::Retry { after: Box::new(verdict.clone()), until: now.mono.plus(pause) };
            self.edit_job(id, |job| {
                if job.past.len() == REMEMBERED_ATTEMPTS {
                    job.past.remove(0);
                }
                job.past.push(PastAttempt {
                    attempt: job.attempt,
                    nodes: job.allocations.iter().map(|allocation| allocation.node).collect(),
                    when: std::mem::take(&mut job.when),
                    ended: now.wall,
                    verdict,
                });
                job.phase = JobPhase::Queued { hold: (pause > Span::ZERO).then_some(hold), gathering: None };
                job.ahead = None;
                job.metered = None;
                job.allocations.clear();
                job.own_nodes.clear();
                if returns {
                    job.lost_starts += u32::from(is_lost);
                } else {
                    job.retries += 1;
                }
            });
            self.decide(&workspace, About::Job(id), reason);
            return;
        }
        let reason = Reason::JobEnded { what: verdict.phrase(), attempts: job.attempt };
        if JobState::of(&verdict) != JobState::Completed {
            self.decide(&workspace, About::Job(id), reason);
        }
        if let Some(job) = self.remove_job(id) {
            if self.dependents.contains_key(&Awaited::Job(id)) {
                self.awaited.push((Awaited::Job(id), EndedAs::of(&verdict)));
            }
            if let Some(place) = job.array {
                self.member_over(place.first, id, &verdict);
            }
            self.out.ended.push(EndedJob { job, verdict, at: now.wall });
        }
    }

    /// Whether what the job runs on will still be there for another attempt.
    fn has_target(&self, job: &Job) -> bool {
        match &job.spec.target {
            Target::Cluster(id) => self.clusters.get(id).is_some_and(|cluster| {
                !matches!(cluster.phase, ClusterPhase::Deleting { .. }) && job.spec.nodes <= cluster.scale.max
            }),
            Target::Instance(id) => self.instances.get(id).is_some_and(|instance| instance.wish != Wish::Delete),
            Target::Serverless(size) => self.sizes.contains_key(size),
        }
    }

    /// A job's phase has come to its end.
    pub(super) fn job_due(&mut self, id: JobId) {
        let now = self.now.mono;
        let Some(job) = self.jobs.get(&id) else { return };
        if job.deadline().is_none_or(|until| until > now) {
            return;
        }
        match job.phase.clone() {
            JobPhase::Queued { hold: Some(_), gathering } => {
                self.edit_job(id, |job| job.phase = JobPhase::Queued { hold: None, gathering });
            }
            JobPhase::Queued { hold: None, .. } => self.stop_gathering(id),
            JobPhase::Starting { .. } if job.ahead == Some(Ahead::Given) => self.ask_back(id),
            JobPhase::Starting { .. } => {
                let limit = crate::compute::job::START_LIMIT;
                let detail = format!("no answer from every node within {limit}").into();
                self.end_job(id, Verdict::StartFailed { detail });
            }
            JobPhase::Running { .. } => {
                let limit = job.spec.timeout.unwrap_or_default();
                self.end_job(id, Verdict::TimedOut { limit });
            }
            JobPhase::Finalizing { .. } => self.end_job(id, Verdict::Succeeded),
            JobPhase::Ending { verdict, is_unused, .. } => {
                let waited = job.spec.grace.plus(KILL_LIMIT);
                let late: Vec<_> = job
                    .allocations
                    .iter()
                    .filter(|allocation| allocation.state != AllocationState::Off)
                    .map(|allocation| allocation.node)
                    .collect();
                // Told again; a node that will not answer goes, unless it is somebody's workstation.
                let until = now.plus(KILL_LIMIT);
                self.edit_job(id, |job| job.phase = JobPhase::Ending { verdict, is_unused, until });
                self.kick(Key::Job(id));
                for node in late {
                    if !self.is_workstation(node) {
                        self.lose_node(node, Reason::WouldNotEnd { job: id, waited }, |node| Verdict::NodeLost {
                            node,
                        });
                    }
                }
            }
        }
    }

    /// The nodes of a job did not come together in time: others may pass, if there are any.
    fn stop_gathering(&mut self, id: JobId) {
        let now = self.now.mono;
        let Some(job) = self.jobs.get(&id) else { return };
        let key = PoolKey::of_job(job);
        let (workspace, needed) = (job.workspace.clone(), u64::from(job.spec.nodes));
        let is_alone = self.pools.get(&key).is_none_or(|pool| pool.queue.len() <= 1);
        // Where it is known when the rest comes, others use its nodes until then anyway.
        let is_sure = self.queue_policy(&key).backfill
            && self.pools.get(&key).and_then(|pool| pool.queue.first()) == Some(id)
            && self.reserved_start(&key).is_some();
        if (is_alone || is_sure) && !self.is_needed_elsewhere(&key) {
            self.edit_job(id, |job| job.phase = JobPhase::Queued { hold: None, gathering: Some(now) });
            return;
        }
        let until = now.plus(STEP_ASIDE);
        let is_starved = self.starved.get(&key).is_some_and(|lack| *lack != Lack::Warm);
        // Others hold what its cluster lacks and wait for what its cluster holds: one of them must let go.
        if let PoolKey::Cluster(cluster) = key
            && self.is_needed_elsewhere(&key)
        {
            self.edit_cluster(cluster, |cluster| cluster.yields_until = Some(until));
        }
        let times = self.edit_job(id, |job| {
            // Where room is scarce waiting longer does not help; behind long jobs it does.
            if !is_starved {
                job.steps_aside = job.steps_aside.saturating_add(1);
            }
            job.phase = JobPhase::Queued { hold: Some(Hold::SteppedAside { until }), gathering: None };
            job.steps_aside
        });
        let times = times.unwrap_or_default();
        self.decide(&workspace, About::Job(id), Reason::SteppedAside { needed, times, left: STEP_ASIDE });
    }
}
