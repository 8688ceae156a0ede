//! What is said of a job, the same in lists, on its page, over REST and on the command line: where it runs,
//! why it is in its state, what would change that, and what it has cost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use atelier_domain::Money;
use atelier_domain::compute::job::{Job, JobState, Target, Verdict};
use atelier_domain::compute::size::Tier;
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::error::AppError;
use atelier_domain::reason::Reason;
use atelier_domain::time::Span;
use atelier_domain::world::World;
use atelier_engine::store::JobRow;
use serde::Serialize;

use crate::caller::{Actor, Caller};
use crate::environments::commands::progress;
use crate::offer::Offer;
use crate::orders::ask;
use crate::orders::since_last_step;

atelier_domain::keyed_enum! {
    /// What the list is narrowed to with one click.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum StateTab {
        Queued = "queued", "Queued";
        /// Those that are somewhere between the queue and their end.
        Running = "running", "Running";
        /// Those that ended well.
        Completed = "completed", "Completed";
        /// Those that ended otherwise.
        Failed = "failed", "Failed";
        Canceled = "canceled", "Canceled";
    }
}

impl StateTab {
    pub const fn states(self) -> &'static [JobState] {
        match self {
            Self::Queued => &[JobState::Queued],
            Self::Running => &[
                JobState::Starting,
                JobState::Running,
                JobState::Finalizing,
                JobState::CancelRequested,
                JobState::NotResponding,
            ],
            Self::Completed => &[JobState::Completed],
            Self::Failed => &[JobState::Failed],
            Self::Canceled => &[JobState::Canceled],
        }
    }
}

/// On what a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compute {
    /// A cluster that exists, by name.
    Cluster(String),
    /// An instance that exists, by name.
    Instance(String),
    /// Nodes of its own, of that size.
    Serverless(String),
    /// Something that is no more, by its id.
    Gone(String),
}

impl Compute {
    pub fn label(&self) -> String {
        match self {
            Self::Cluster(name) | Self::Instance(name) => name.clone(),
            Self::Serverless(size) => format!("serverless, {size}"),
            Self::Gone(id) => format!("{id}, deleted"),
        }
    }

    /// What the World says about a target.
    pub fn of(world: &World, target: &Target) -> Self {
        match target {
            Target::Cluster(id) => {
                world.cluster(*id).map_or_else(|| Self::Gone(id.to_string()), |it| Self::Cluster(it.name.to_string()))
            }
            Target::Instance(id) => {
                world.instance(*id).map_or_else(|| Self::Gone(id.to_string()), |it| Self::Instance(it.name.to_string()))
            }
            Target::Serverless(size) => Self::Serverless(size.to_string()),
        }
    }
}

/// What the engine knows about a job beside its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub compute: Compute,
    pub tier: Tier,
    pub reason: Option<Reason>,
    /// How far the environment is that it waits for, in numbers.
    pub progress: Option<String>,
    /// Its place in the queue, from 1, and how many wait there.
    pub position: Option<(u64, u64)>,
    /// What its nodes have cost since they were last charged, by its share of their cores.
    pub unsettled: Money,
}

impl Standing {
    /// From what the World knows; `later` is how long ago it looked at its clock.
    pub fn of(world: &World, job: &Job, later: Span) -> Self {
        let tier = match &job.spec.target {
            Target::Cluster(id) => world.cluster(*id).map_or(job.spec.tier, |cluster| cluster.tier),
            Target::Instance(_) => Tier::Dedicated,
            Target::Serverless(_) => job.spec.tier,
        };
        Self {
            compute: Compute::of(world, &job.spec.target),
            tier,
            reason: world.explain_job(job.id),
            progress: None,
            position: world.position(job.id),
            unsettled: Money(unsettled(world, job.id, later)),
        }
    }

    /// Why the job is in its state, and what would change that; nothing if it goes without saying.
    pub fn why(&self, row: &JobRow) -> Option<Why> {
        if let Some(verdict) = &row.verdict {
            return Why::of_end(verdict, row.job.attempt);
        }
        let reason = self.reason.as_ref()?;
        let sentence = match &self.progress {
            Some(progress) => format!("{} {progress}", reason.sentence()),
            None => reason.sentence(),
        };
        Some(Why { sentence, next_step: reason.next_step() })
    }
}

/// Why something is as it is, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    pub sentence: String,
    /// What would change it.
    pub next_step: Option<String>,
}

impl Why {
    /// How a job ended; nothing for one that ended well. `attempt` is its last, and 0 if it never began.
    pub fn of_end(verdict: &Verdict, attempt: u32) -> Option<Self> {
        if *verdict == Verdict::Succeeded {
            return None;
        }
        let phrase = verdict.phrase();
        let is_early = attempt == 0 && JobState::of(verdict) == JobState::Canceled && !phrase.contains("never started");
        let before = if is_early { " before it started" } else { "" };
        let next_step = match verdict {
            Verdict::Succeeded | Verdict::Canceled { .. } => None,
            Verdict::Exited { .. } => Some("The end of its log usually says why."),
            Verdict::OutOfMemory => Some("Copy the job and ask for more memory."),
            Verdict::TimedOut { .. } => Some("Copy the job and give it more time."),
            Verdict::NodeLost { .. } | Verdict::Preempted { .. } => Some("Run it again, or allow retries."),
            Verdict::StartFailed { .. } => Some("Look whether the program exists on the node."),
            Verdict::ComputeGone { .. } => Some("Copy the job and choose another compute."),
            Verdict::Filled { filled } => Some(filled.next_step()),
            Verdict::EnvironmentFailed { .. } => {
                Some("Make a new version of the environment without that line, and copy the job.")
            }
            Verdict::DependencyFailed { .. } => Some("Mend the job that it waited for, and run both again."),
        };
        Some(Self { sentence: format!("The job {phrase}{before}."), next_step: next_step.map(str::to_owned) })
    }
}

/// What the engine knows about each of these jobs. Environments that several wait for are looked at once.
pub async fn standings(caller: &Caller, rows: &[&JobRow]) -> Result<HashMap<JobId, Standing>, AppError> {
    let jobs: Vec<Job> = rows.iter().map(|row| row.job.clone()).collect();
    let later = since_last_step(caller);
    let mut found: HashMap<JobId, Standing> =
        ask(caller, move |world| jobs.iter().map(|job| (job.id, Standing::of(world, job, later))).collect()).await?;
    let mut known = HashMap::new();
    for row in rows.iter().filter(|row| row.ended.is_none()) {
        let Some(hash) = row.job.spec.awaited_environment().map(|pinned| pinned.hash) else { continue };
        let progress = match known.entry(hash) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(progress(caller, hash).await?),
        };
        if let Some(standing) = found.get_mut(&row.job.id) {
            standing.progress.clone_from(progress);
        }
    }
    Ok(found)
}

/// What the caller may do to a job.
pub fn offer(actor: &Actor, row: &JobRow) -> Offer<JobVerb> {
    Offer::of_job(&actor.person.rights(), actor.whose(&row.job.owner), row.state, row.job.held.is_some())
}

/// What each of these jobs was charged so far. Jobs whose cost is not for the caller to know are left out.
pub async fn charged(caller: &Caller, rows: &[&JobRow]) -> Result<HashMap<JobId, Money>, AppError> {
    let actor = caller.actor()?;
    let seen = || rows.iter().map(|row| &row.job).filter(|job| actor.sees_cost_of(&job.owner));
    let ids: Vec<JobId> = seen().map(|job| job.id).collect();
    let Some(since) = seen().map(|job| job.submitted).min() else { return Ok(HashMap::new()) };
    let costs = caller.checked(caller.store().job_costs(&actor.workspace.id, &ids, since).await)?;
    Ok(ids.into_iter().map(|id| (id, Money(costs.get(&id).copied().unwrap_or_default()))).collect())
}

fn unsettled(world: &World, id: JobId, later: Span) -> u64 {
    let Some(job) = world.job(id) else { return 0 };
    let weight = |job: &Job| job.takes().cores.max(1);
    let share = |node: NodeId| {
        let cost = world.node(node).map_or(0, |node| world.unsettled(node, later));
        let others = world.on_node(node).into_iter().flat_map(|on| &on.jobs).filter_map(|job| world.job(*job));
        let all: u64 = others.map(weight).sum();
        u64::try_from(u128::from(cost) * u128::from(weight(job)) / u128::from(all.max(1))).unwrap_or(u64::MAX)
    };
    job.allocations.iter().fold(0_u64, |sum, allocation| sum.saturating_add(share(allocation.node)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_but_a_good_one_is_told_and_mostly_what_helps() {
        let node = NodeId(1);
        let ends = [
            Verdict::Exited { code: 3 },
            Verdict::OutOfMemory,
            Verdict::TimedOut { limit: Span::minutes(5) },
            Verdict::NodeLost { node },
            Verdict::Preempted { node },
            Verdict::StartFailed { detail: "no such program".into() },
        ];
        for verdict in ends {
            let why = Why::of_end(&verdict, 1).expect("something to say");
            assert_eq!(why.sentence, format!("The job {}.", verdict.phrase()));
            assert!(why.next_step.is_some(), "{verdict:?}");
        }
        assert_eq!(Why::of_end(&Verdict::Succeeded, 1), None);
        let canceled = |attempt| Why::of_end(&Verdict::Canceled { by: "Mara".into() }, attempt).expect("a reason");
        assert_eq!(canceled(0).sentence, "The job was canceled by Mara before it started.");
        assert_eq!(canceled(1), Why { sentence: "The job was canceled by Mara.".into(), next_step: None });
    }
}
